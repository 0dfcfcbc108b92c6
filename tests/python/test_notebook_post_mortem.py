"""After a death: the verdict above the first cell of the kernel that comes after, once."""

import json
import os

import pytest

from support import cgroup
from support.kernels import kernel

pytest.importorskip("ipykernel")


def die(lab, code, limit="512MiB", **options):
    """Runs a kernel until a cell ends it."""
    with kernel(lab, limit=limit, **options) as started:
        started.run("before = 1")
        started.client.execute(code)
        started.manager.provisioner.process.wait()


def first_cell(lab, **options):
    """What the first cell of another kernel gives."""
    with kernel(lab, limit="512MiB", **options) as started:
        return started.run("1 + 1"), started.run("2 + 2")


@pytest.fixture
def same(lab):
    """What a kernel keeps when it starts again."""
    return {"connection_file": lab.folder / "kernel-0815.json"}


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("import ctypes\nctypes.string_at(0)", "(segmentation fault)"),
        ("import os\nos.kill(os.getpid(), 9)", "by SIGKILL; nothing shows who sent it"),
        ("import os\nos._exit(3)", "code 3"),
    ],
)
def test_a_bad_end_is_told_once_above_the_first_cell(lab, same, code, words):
    die(lab, code, **same)
    first, second = first_cell(lab, **same)
    text = first.block["text/plain"]
    assert text.startswith("The kernel died: ")
    assert words in " ".join(text.split())
    assert "import" not in text
    assert "%outlive why" in text
    assert first.result == "2"
    assert second.blocks == []
    again, _ = first_cell(lab, **same)
    assert again.blocks == []


def test_the_place_is_a_cell_and_its_line(lab, same):
    die(lab, "import ctypes\nkept = bytearray(200 << 20)\nctypes.string_at(0)", **same)
    first, _ = first_cell(lab, **same)
    headline, code, *_ = first.block["text/plain"].splitlines()
    assert "cell [2] line 3" in headline + code
    assert "ctypes.string_at(0)" in first.block["text/plain"]
    assert "ipykernel_" not in first.block["text/plain"]


def test_a_kill_by_the_kernel_names_the_line_that_grew(lab, same):
    version = next(iter(cgroup.versions()), 1)
    with cgroup.group_of(version, 300 * cgroup.MIB) as group:
        die(
            lab,
            "kept = []\nwhile True:\n    kept.append(bytearray(b'x' * (4 << 20)))",
            limit=None,
            flags=["--no-guard"],
            preexec_fn=group.enter,
            **same,
        )
        assert group.kills() == 1
    first, _ = first_cell(lab, **same)
    text = first.block["text/plain"]
    assert "cell [2] line 3" in text
    assert "kept.append(bytearray(b'x' * (4 << 20)))" in text
    assert "300 MiB" in text
    cause = "The results of every turn of a loop are kept (cell [2] line 3)"
    assert cause in " ".join(text.split())


@pytest.mark.parametrize(
    "code",
    [
        "import os\nos._exit(0)",
        "import os\nos.kill(os.getpid(), 15)",
        "import os, signal\nsignal.signal(2, signal.SIG_DFL)\nos.kill(os.getpid(), 2)",
        "exit()",
    ],
)
def test_an_end_that_was_wanted_is_not_told(lab, same, code):
    die(lab, code, **same)
    first, _ = first_cell(lab, **same)
    assert first.blocks == []


def test_another_kernel_is_not_told(lab, same):
    die(lab, "import os\nos._exit(3)", **same)
    first, _ = first_cell(lab)
    assert first.blocks == []
    first, _ = first_cell(lab, environment={"JPY_SESSION_NAME": "other.ipynb"})
    assert first.blocks == []


def test_the_same_notebook_is_told_whatever_its_connection_file(lab):
    notebook = {"environment": {"JPY_SESSION_NAME": str(lab.folder / "a.ipynb")}}
    die(lab, "import os\nos._exit(3)", **notebook)
    first, _ = first_cell(lab, environment={"JPY_SESSION_NAME": "b.ipynb"})
    assert first.blocks == []
    first, _ = first_cell(lab, **notebook)
    assert first.block["text/plain"].startswith("The kernel died: ")


def test_a_silent_cell_is_not_the_first(lab, same):
    die(lab, "import os\nos._exit(3)", **same)
    with kernel(lab, limit="512MiB", **same) as started:
        assert started.run("1", silent=True).blocks == []
        assert len(started.run("1").blocks) == 1


def test_an_end_of_long_ago_is_not_told(lab, same):
    die(lab, "import os\nos._exit(3)", **same)
    [facts] = (lab.home / "runs").glob("*/run.json")
    told = json.loads(facts.read_text())
    told["ended_at"] -= 2 * 3600 * 10**9
    facts.write_text(json.dumps(told))
    first, _ = first_cell(lab, **same)
    assert first.blocks == []


def test_why_tells_the_whole_story_of_the_last_bad_end(lab, same):
    die(lab, "import ctypes\nctypes.string_at(0)", **same)
    with kernel(lab, limit="512MiB", **same) as started:
        text = started.run("%outlive why").text
        assert "SIGSEGV" in text
        run = next((lab.home / "runs").iterdir()).name
        assert "proof" in started.run(f"%outlive why {run}").text
        assert started.run("%outlive why no-such-run").text.count("\n") <= 2


def test_vs_code_names_the_notebook_in_a_variable(lab):
    from outlive.notebook.identity import Identity, named_by_notebook

    me = Identity(None, "/a.json", None, "/work", 1, 7, 0.0)
    other = me._replace(connection_file="/b.json", pid=2)
    before = dict(os.environ)
    os.environ.pop("JPY_PARENT_PID", None)
    try:
        assert me.is_same_kernel(other)
        mine = named_by_notebook(me, {"__vsc_ipynb_file__": "/data/a.ipynb"})
        assert mine.session == "/data/a.ipynb"
        assert me.may_be_same_kernel(mine)
        assert not mine.is_same_kernel(other)
        assert mine.is_same_kernel(other._replace(session="/data/a.ipynb"))
        os.environ["JPY_PARENT_PID"] = "7"
        assert not me.is_same_kernel(other)
    finally:
        os.environ.clear()
        os.environ.update(before)


def test_a_broken_store_is_no_end_of_a_kernel(lab, same):
    runs = lab.home / "runs"
    for name, text in (("20990101-000000-1111", "{"), ("20990101-000000-2222", "[]")):
        (runs / name).mkdir(parents=True)
        (runs / name / "kernel.json").write_text(text)
        (runs / name / "run.json").write_text(text)
    first, _ = first_cell(lab, **same)
    assert (first.status, first.blocks) == ("ok", [])
