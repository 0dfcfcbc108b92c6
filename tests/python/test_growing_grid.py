"""`outlive.Grid` among threads, forks and mistakes: no cell is lost, doubled or overwritten."""

import errno
import io
import os
import threading

import pytest

numpy = pytest.importorskip("numpy")
Image = pytest.importorskip("PIL.Image")

import outlive  # noqa: E402


def image_of(value):
    return numpy.full((3, 8, 8), value, numpy.uint8)


def cells_of(path, columns):
    """The value in the middle of each cell."""
    pixels = numpy.asarray(Image.open(path).convert("L"))
    return [int(pixels[6, 6 + 10 * column]) for column in range(columns)]


def test_threads_add_while_another_saves(tmp_path):
    grid = outlive.Grid(cell=(8, 8))
    grid.add(image_of(0))
    failures = []

    def add():
        try:
            for _ in range(100):
                grid.add(image_of(9))
        except Exception as error:  # noqa: BLE001
            failures.append(error)

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        grid.save(tmp_path / "seen.png")
    assert failures == []
    assert len(grid) == 401


def test_a_forked_process_does_not_write_over_the_cells_of_its_parent(tmp_path):
    grid = outlive.Grid(cell=(8, 8), columns=3)
    grid.add([image_of(33)] * 2)
    child = os.fork()
    if child == 0:
        refused = 0
        for use in (lambda: grid.add(image_of(77)), lambda: grid.save(tmp_path / "child.png")):
            try:
                use()
            except RuntimeError as error:
                refused += "hint: " in str(error)
        os._exit(0 if refused == 2 else 1)
    assert os.waitpid(child, 0)[1] == 0
    grid.add(image_of(33)).save(tmp_path / "parent.png")
    assert cells_of(tmp_path / "parent.png", 3) == [33, 33, 33]
    assert not (tmp_path / "child.png").exists()


def test_a_grid_is_not_saved_without_a_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="a name"):
        outlive.Grid().add(image_of(1)).save("")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_missing_is_an_error_python_knows(tmp_path):
    grid = outlive.Grid().add(image_of(1))
    for name in ("a.png", "a.jpg", "a.webp", "a.zip"):
        with pytest.raises(FileNotFoundError, match=r"gone/a\.") as caught:
            grid.save(tmp_path / "gone" / name)
        assert caught.value.errno == errno.ENOENT
        assert "os error" not in str(caught.value)


def test_too_few_labels_leave_the_grid_as_it_was():
    grid = outlive.Grid(cell=(8, 8))
    for images in ([image_of(1)] * 3, numpy.stack([image_of(1)] * 3)):
        with pytest.raises(ValueError, match="1 for 3"):
            grid.add(images, labels=["a"])
    assert len(grid) == 0


def test_channels_that_come_last_are_named():
    with pytest.raises(ValueError, match=r"hint: channels come first: \(3, 32, 30\)"):
        outlive.Grid().add(numpy.zeros((32, 30, 3), numpy.uint8))


def test_a_damaged_file_harms_none_that_follows(tmp_path):
    pixels = numpy.arange(40 * 40 * 3, dtype=numpy.uint32).reshape(40, 40, 3) // 19
    buffer = io.BytesIO()
    Image.fromarray(pixels.astype(numpy.uint8)).save(buffer, "JPEG", quality=90)
    good = buffer.getvalue()
    frame = good.index(b"\xff\xc0")
    damaged = bytearray(good)
    damaged[frame + 11] = 0
    (tmp_path / "bad.jpg").write_bytes(damaged)
    (tmp_path / "good.jpg").write_bytes(good)
    grid = outlive.Grid(cell=(40, 40), columns=3)
    for name in ("good", "bad", "good"):
        grid.add(tmp_path / f"{name}.jpg")
    grid.save(tmp_path / "sheet.png")
    sheet = numpy.asarray(Image.open(tmp_path / "sheet.png").convert("RGB"))
    first, second, third = (sheet[2:42, 2 + 42 * at : 42 + 42 * at] for at in range(3))
    assert (first == third).all()
    assert (first != second).any()


def test_files_do_not_go_with_floating_point_images(tmp_path):
    Image.fromarray(numpy.zeros((8, 8, 3), numpy.uint8)).save(tmp_path / "a.png")
    mixed = [tmp_path / "a.png", numpy.zeros((3, 8, 8), numpy.float32)]
    for images in (mixed, mixed[::-1], iter(mixed)):
        with pytest.raises(TypeError, match="from 0 to 255"):
            outlive.make_grid(images)


def test_a_budget_may_be_written_as_a_size():
    images = numpy.zeros((4, 3, 64, 64), numpy.uint8)
    with pytest.raises(outlive.OverBudget):
        outlive.make_grid(images, max_bytes="10KiB")
    assert outlive.make_grid(images, max_bytes="1MiB").shape == (3, 68, 266)
    for wrong in ("much", -1):
        with pytest.raises(ValueError, match="much|negative"):
            outlive.make_grid(images, max_bytes=wrong)
