"""`outlive grid` on files that nobody should have to open: listed with reasons, no crash."""

import fcntl
import io
import json
import os
import resource
import shutil
import subprocess
import sys

import pytest

from support import pictures
from support.paths import program
from support.pictures import encoded

Image = pytest.importorskip("PIL.Image")
Image.MAX_IMAGE_PIXELS = None

CELL = 100


def grid(folder, output, *words, memory=None):
    """Runs the command; `memory` bounds its address space, so that a bomb is seen."""

    def limit():
        if memory:
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))

    command = [program(), "grid", folder, "-o", output, "--cell", str(CELL), "--columns", "5"]
    return subprocess.run(
        [*command, *words], capture_output=True, text=True, timeout=120, preexec_fn=limit
    )


def cells(sheet, count, padding=2, columns=5):
    """The cells of a sheet, as pictures."""
    image = Image.open(sheet).convert("RGB")
    for number in range(count):
        left = padding + number % columns * (CELL + padding)
        top = padding + number // columns * (CELL + padding)
        yield image.crop((left, top, left + CELL, top + CELL))


def write(folder, files):
    folder.mkdir(exist_ok=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return sorted(files)


def broken_list(path):
    lines = path.read_text().splitlines()
    return {line.split("\t")[1].rsplit("/", 1)[-1]: line.split("\t")[2] for line in lines}


def near(colour, wanted, tolerance=24):
    return all(abs(one - other) <= tolerance for one, other in zip(colour, wanted))


def shows_shape(cell):
    """The white bar above, red at the left, blue at the right, on a ground of white."""
    return near(cell.getpixel((25, 55)), (200, 30, 30)) and near(
        cell.getpixel((75, 55)), (30, 30, 200)
    )


def test_every_kind_of_picture_is_shown(tmp_path):
    names = write(tmp_path / "in", pictures.good())
    done = grid(tmp_path / "in", tmp_path / "sheet.png", "--order", "path")
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "sheet.png.broken.tsv").exists(), done.stderr
    for name, cell in zip(names, cells(tmp_path / "sheet.png", len(names))):
        if name in ("grey.jpg", "sixteen.png", "one-bit.png"):
            assert cell.getcolors(1 << 20) is not None and cell.getextrema()[0][0] < 200, name
        else:
            assert shows_shape(cell), name


def test_every_way_up_is_shown_the_same(tmp_path):
    names = write(tmp_path / "in", dict(pictures.turned()))
    done = grid(tmp_path / "in", tmp_path / "sheet.png", "--order", "path")
    assert done.returncode == 0, done.stderr
    for name, cell in zip(names, cells(tmp_path / "sheet.png", len(names))):
        assert shows_shape(cell), name


def test_what_is_transparent_shows_the_ground(tmp_path):
    (tmp_path / "in").mkdir()
    Image.new("RGBA", (50, 50), (255, 0, 0, 0)).save(tmp_path / "in/clear.png")
    Image.new("LA", (50, 50), (0, 0)).save(tmp_path / "in/clear-grey.png")
    Image.new("RGBA", (50, 50), (255, 0, 0, 0)).save(tmp_path / "in/clear.webp", lossless=True)
    done = grid(tmp_path / "in", tmp_path / "sheet.png", "--background", "#00ff00")
    assert done.returncode == 0, done.stderr
    for cell in cells(tmp_path / "sheet.png", 3):
        assert near(cell.getpixel((50, 50)), (0, 255, 0), 2)


@pytest.mark.parametrize("output", ["sheet.png", "page/"])
def test_bad_files_are_listed_with_the_reason_and_take_no_memory(tmp_path, output):
    files = pictures.bad() | {"good.jpg": pictures.good()["plain.jpg"]}
    write(tmp_path / "in", files)
    target = f"{tmp_path}/{output}"
    done = grid(tmp_path / "in", target, "--budget", "32MiB", memory=1 << 30)
    assert done.returncode == 0, done.stderr
    listed = tmp_path / ("page/broken.tsv" if output == "page/" else "sheet.png.broken.tsv")
    reasons = broken_list(listed)
    assert sorted(reasons) == sorted(pictures.bad()), done.stderr
    assert reasons["empty.jpg"] == "Empty file"
    assert reasons["half.jpg"] == "JPEG is cut off"
    assert reasons["heic.jpg"] == "HEIC is not supported"
    assert "budget" in reasons["bomb.jpg"]
    assert all(reasons.values())


def peak_of_grid(folder, output, *words):
    """Runs the command to its end; MiB that it had resident at most."""
    command = [program(), "grid", folder, "-o", output, "--cell", "32", *words]
    # A small program in between: a child begins with the peak of the one it was forked from.
    code = (
        "import os, sys\n"
        "pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)\n"
        "_, status, use = os.wait4(pid, 0)\n"
        "print(os.waitstatus_to_exitcode(status), use.ru_maxrss // 1024)"
    )
    command = [sys.executable, "-S", "-E", "-c", code, *command]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    code, peak = done.stdout.split()[-2:]
    assert code == "0", done.stderr
    return int(peak)


def decoder_of_jpeg(folder):
    """The name of the one that the command was built with."""
    command = [program(), "grid", folder / "small", "-o", folder / "any.png", "--format", "json"]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)[
        "jpeg_decoder"
    ]


def test_what_is_packed_beside_the_pixels_stays_packed(tmp_path):
    good = {"good.jpg": pictures.good()["plain.jpg"]}
    write(tmp_path / "small", good)
    write(tmp_path / "in", pictures.packed() | good)
    base = peak_of_grid(tmp_path / "small", tmp_path / "small.png")
    peak = peak_of_grid(tmp_path / "in", tmp_path / "sheet.png", "--budget", "32MiB")
    assert peak < base + 40
    reasons = broken_list(tmp_path / "sheet.png.broken.tsv")
    assert "the budget is 32 MiB" in reasons.pop("numbers.tiff")
    assert "8192 x 8192" in reasons.pop("inside.tiff")
    assert "1146880000 pixels in" in reasons.pop("bits.png")
    if decoder_of_jpeg(tmp_path) == "libjpeg-turbo":  # its stand-in has no limit of scans
        assert "more than 100 scans" in reasons.pop("scans.jpg")
        assert not reasons


def test_many_threads_stay_within_the_budget(tmp_path):
    folder = tmp_path / "in"
    first = encoded(Image.effect_noise((800, 700), 90).convert("RGB"), "BMP")
    second = pictures.png_with_a_long_start()
    write(folder, {"0.bmp": first, "0.png": second})
    for number in range(1, 60):
        for name in ("bmp", "png"):
            os.link(folder / f"0.{name}", folder / f"{number}.{name}")
    one = peak_of_grid(folder, tmp_path / "one.png", "--budget", "16MiB", "--threads", "1")
    many = peak_of_grid(folder, tmp_path / "many.png", "--budget", "16MiB", "--threads", "64")
    assert many < one + 40


def test_a_folder_of_nothing_but_broken_files_says_so(tmp_path):
    write(tmp_path / "in", {"a.jpg": b"", "b.png": b"x"})
    done = grid(tmp_path / "in", tmp_path / "sheet.png")
    assert done.returncode == 1, done.stderr
    assert len(broken_list(tmp_path / "sheet.png.broken.tsv")) == 2


def test_odd_names_reach_the_list_and_the_page_as_text(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    for name in pictures.NAMES:
        (folder / name).write_bytes(b"broken")
    (folder / "good.jpg").write_bytes(pictures.good()["plain.jpg"])
    with open(os.fsencode(folder) + b"/not-\xff-utf8.jpg", "wb") as file:
        file.write(b"")
    done = grid(folder, f"{tmp_path}/page/")
    assert done.returncode == 0, done.stderr
    # Not by `splitlines`: one of the names holds a separator that it would part at.
    lines = (tmp_path / "page/broken.tsv").read_text().rstrip("\n").split("\n")
    assert len(lines) == len(pictures.NAMES) + 1
    for script in (tmp_path / "page").rglob("*.js"):
        if script.parent.name != "page" or script.parent.parent.name != "page":
            text = script.read_text()
            assert "<" not in text and "\u2028" not in text, script


def test_links_in_circles_pipes_and_devices_end(tmp_path):
    folder = tmp_path / "in"
    write(folder, {"good.jpg": pictures.good()["plain.jpg"]})
    (folder / "loop").symlink_to(folder)
    (folder / "self.jpg").symlink_to("self.jpg")
    (folder / "dangling.jpg").symlink_to("nowhere.jpg")
    os.mkfifo(folder / "pipe.jpg")
    (folder / "zero.jpg").symlink_to("/dev/zero")
    done = grid(folder, tmp_path / "sheet.png")
    assert done.returncode == 0, done.stderr
    for name in ("pipe.jpg", "zero.jpg"):
        assert f"{name}`: Neither a file nor a folder" in done.stderr
    assert shows_shape(next(cells(tmp_path / "sheet.png", 1, columns=1)))


def test_a_line_that_is_no_file_keeps_its_place(tmp_path):
    write(tmp_path, {"good.jpg": pictures.good()["plain.jpg"]})
    os.mkfifo(tmp_path / "pipe.jpg")
    names = ["pipe.jpg", "good.jpg", "missing.jpg", "/dev/zero"]
    (tmp_path / "list").write_text("".join(f"{tmp_path / name}\n" for name in names))
    words = ("--order", "list")
    done = grid(f"@{tmp_path}/list", tmp_path / "sheet.png", *words)
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / "sheet.png.broken.tsv").read_text().splitlines()
    assert [line.split("\t")[0] for line in lines] == ["0", "2", "3"]
    assert lines[0].endswith("It is no regular file") and lines[2].endswith("no regular file")


def test_a_call_that_is_refused_leaves_the_list_of_the_other_alone(tmp_path):
    write(tmp_path / "in", {"a.jpg": b"", "good.jpg": pictures.good()["plain.jpg"]})
    listed = tmp_path / "sheet.png.broken.tsv"
    listed.write_text("0\ta.jpg\tEmpty file\n")
    with open(tmp_path / "sheet.png.outlive-partial", "w") as partial:
        fcntl.flock(partial, fcntl.LOCK_EX)
        done = grid(tmp_path / "in", tmp_path / "sheet.png")
    assert done.returncode == 2 and "another process is writing it" in done.stderr
    assert listed.read_text() == "0\ta.jpg\tEmpty file\n"


@pytest.mark.parametrize("name", ["facts", "problems", "grid.json.new", "../index.html.new"])
def test_links_in_a_page_are_not_written_through(tmp_path, name):
    write(tmp_path / "in", {"good.jpg": pictures.good()["plain.jpg"]})
    (tmp_path / "other").write_text("of somebody else")
    (tmp_path / "page").mkdir()
    grid(tmp_path / "in", f"{tmp_path}/page/")
    link = tmp_path / "page/.outlive" / name
    link.unlink(missing_ok=True)
    link.symlink_to(tmp_path / "other")
    done = grid(tmp_path / "in", f"{tmp_path}/page/", "--overwrite")
    assert done.returncode in (0, 2), done.stderr
    assert (tmp_path / "other").read_text() == "of somebody else"


def test_folders_of_a_page_are_no_links(tmp_path):
    write(tmp_path / "in", {"good.jpg": pictures.good()["plain.jpg"]})
    (tmp_path / "other").mkdir()
    grid(tmp_path / "in", f"{tmp_path}/page/")
    shutil.rmtree(tmp_path / "page/cells")
    (tmp_path / "page/cells").symlink_to(tmp_path / "other")
    done = grid(tmp_path / "in", f"{tmp_path}/page/", "--overwrite")
    assert done.returncode == 2 and "cells` is a link" in done.stderr
    assert not list((tmp_path / "other").iterdir())


def test_a_file_that_cannot_be_written_is_one_clear_line(tmp_path):
    write(tmp_path / "in", {"good.jpg": pictures.good()["plain.jpg"]})
    done = grid(tmp_path / "in", tmp_path / "no/such/folder/sheet.png")
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) <= 3, done.stderr
    assert "no/such/folder" in done.stderr


def test_a_picture_longer_than_the_budget_is_named(tmp_path):
    noise = Image.effect_noise((3000, 3000), 90)
    file = io.BytesIO()
    noise.save(file, "BMP")
    write(tmp_path / "in", {"long.bmp": file.getvalue(), "good.jpg": pictures.good()["plain.jpg"]})
    done = grid(tmp_path / "in", tmp_path / "sheet.png", "--budget", "4MiB")
    assert done.returncode == 0, done.stderr
    assert "budget" in broken_list(tmp_path / "sheet.png.broken.tsv")["long.bmp"]
