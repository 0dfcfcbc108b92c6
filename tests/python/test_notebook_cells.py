"""What a kernel writes down about itself and its cells, and that it never gets in the way."""

import json
import os
from types import SimpleNamespace

import pytest

from outlive.notebook import cells as module
from outlive.notebook.cells import Cell, Cells, numbered_source
from support.kernels import kernel


@pytest.fixture
def started(lab):
    pytest.importorskip("ipykernel")
    with kernel(lab, limit="512MiB") as running:
        yield running


@pytest.fixture
def cells(tmp_path):
    made = Cells(tmp_path)
    yield made
    made.close()


def run_folder(lab):
    [folder] = (lab.home / "runs").iterdir()
    return folder


def recorded(folder):
    return [json.loads(line) for line in (folder / "cells.jsonl").read_text().splitlines()]


def test_a_cell_is_written_down_before_it_runs(lab, started):
    ran = started.run(
        "import json, os\n"
        "line = open(os.environ['OUTLIVE_RUN_DIR'] + '/cells.jsonl').read().splitlines()[-1]\n"
        "(lambda: None).__code__.co_filename == json.loads(line)['file'], json.loads(line)['count']"
    )
    assert ran.result == "(True, 1)"
    [first] = recorded(run_folder(lab))
    assert first["source"].startswith("import json, os\nline = ")
    assert first["id"] is None
    assert 0 < first["time"] < 1 << 62


def test_the_kernel_is_written_down(lab, started):
    written = json.loads((run_folder(lab) / "kernel.json").read_text())
    assert sorted(written) == [
        "connection_file", "cwd", "kernel_id", "parent", "pid", "session", "started",
    ]  # fmt: skip
    assert written["connection_file"] == started.manager.connection_file
    assert started.manager.connection_file.endswith(f"kernel-{written['kernel_id']}.json")
    assert written["cwd"] == str(lab.folder)
    assert written["parent"] == os.getpid()
    assert str(written["pid"]) == started.value("__import__('os').getpid()")


def test_silent_cells_and_magics(lab, started):
    started.run("1", silent=True)
    started.run("%%time\nx = 1")
    started.run("%%capture\ny = bytearray(10)")
    started.run("\n\nz = 1\n!true")
    counts = [(one["count"], one["source"]) for one in recorded(run_folder(lab))]
    assert counts == [
        (1, "%%time\nx = 1"),
        (2, "%%capture\ny = bytearray(10)"),
        (2, "y = bytearray(10)"),
        (3, "z = 1\n!true"),
    ]


def test_the_id_of_a_cell_is_told_where_the_front_end_tells_it(lab, started):
    message = started.client.session.msg(
        "execute_request",
        {"code": "a = 1", "silent": False, "store_history": True, "allow_stdin": False},
        metadata={"cellId": "f00"},
    )
    started.client.shell_channel.send(message)
    assert started.value("a") == "1"
    assert recorded(run_folder(lab))[0]["id"] == "f00"


def test_a_folder_that_is_gone_or_read_only_stops_nothing(lab, started):
    folder = run_folder(lab)
    folder.rename(folder.with_name("20990101-000000-0000"))
    assert started.run("a = 1").status == "ok"
    ran = started.run("bytearray(2 << 30)")
    assert ran.block["text/plain"].startswith("Outlive refused 2.0 GiB at cell [2] line 1")


def test_a_deleted_connection_file_stops_nothing(lab, started):
    os.unlink(started.manager.connection_file)
    started.run("%unload_ext outlive\n%load_ext outlive")
    assert len(started.run("bytearray(2 << 30)").blocks) == 1


def test_a_full_disk_ends_recording_and_nothing_else():
    cells = Cells(None)
    cells._folder = module.Path("/dev")
    cells._file = open("/dev/full", "a")  # noqa: SIM115
    cells.add("a.py", Cell(1, None), "x")
    assert cells.of("a.py") == Cell(1, None)
    assert cells._folder is None
    cells.add("b.py", Cell(2, None), "x")


def test_the_file_stays_bounded_and_keeps_the_newest(tmp_path, cells, monkeypatch):
    monkeypatch.setattr(module, "LARGEST_FILE", 10_000)
    for count in range(500):
        cells.add(f"{count}.py", Cell(count, None), "x" * 50)
        assert (tmp_path / "cells.jsonl").stat().st_size <= 10_000
    kept = [one["count"] for one in recorded(tmp_path)]
    assert kept == list(range(kept[0], 500))
    assert len(kept) > 20
    assert [one.name for one in tmp_path.iterdir()] == ["cells.jsonl"]


def test_a_long_cell_is_cut(tmp_path, cells):
    cells.add("a.py", Cell(1, None), "é" * 100_000)
    [line] = recorded(tmp_path)
    assert line["source"] == "é" * (64 << 10)


def test_nothing_of_a_cell_breaks_a_line(tmp_path, cells):
    source = 'a = "\\n\u2028\ud800\x00"\n\r\n'
    cells.add("a.py", Cell(1, "\n"), source)
    [line] = recorded(tmp_path)
    assert line["source"] == source


def test_a_forked_process_writes_nothing(tmp_path, cells):
    cells.add("a.py", Cell(1, None), "x")
    cells._pid += 1
    cells.add("b.py", Cell(2, None), "x")
    assert len(recorded(tmp_path)) == 1


def test_a_cell_in_a_cell_has_the_prompt_of_the_outer(cells):
    cells.begin(SimpleNamespace(raw_cell="outer", store_history=True, cell_id="f00"))
    cells.compiled("outer.py", "outer", 7, "outer")
    cells.begin(SimpleNamespace(raw_cell="inner", store_history=False))
    cells.compiled("inner.py", "inner", 8, "inner")
    cells.end()
    cells.compiled("silent.py", "silent", 8, "silent")
    assert (cells.of("inner.py"), cells.of("outer.py")) == (Cell(7, None), Cell(7, "f00"))
    assert cells.of("silent.py") is None
    cells.end()
    cells.end()
    assert cells.running() is None


def test_line_n_of_the_source_is_line_n_of_the_code():
    assert numbered_source("\n  \na = 1\n%pwd", "a = 1\nmagic()\n") == "a = 1\n%pwd"
    assert numbered_source("%a \\\n b\nc", "magic()\nc\n") == "magic()\nc\n"
    assert numbered_source("", "") == ""
