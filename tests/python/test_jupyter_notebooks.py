"""Notebooks run without a person: nbclient, papermill and their commands, where a kernel dies."""

import html.parser
import json

import pytest

from support import cgroup
from support.environment import Environment
from test_jupyter_server import TAKE

nbformat = pytest.importorskip("nbformat")
pytest.importorskip("papermill")

KILL = "print('before', flush=True)\nimport os\nos.kill(os.getpid(), 9)"
# A name of a file that would run as a script, in the line that holds the memory and dies.
HOSTILE_NAME = "<img src=x onerror=alert(1)>.py"
HOSTILE = f"""
code = "held = bytearray(400 << 20)\\nimport os\\nos.abort()"
exec(compile(code, {HOSTILE_NAME!r}, "exec"))
"""
LIBRARY = """
import sys, nbformat
from nbclient import NotebookClient
from nbclient.exceptions import DeadKernelError
notebook = nbformat.read(sys.argv[1], 4)
try:
    NotebookClient(notebook).execute()
except DeadKernelError as error:
    assert str(error) == "Kernel died", error
    assert not getattr(error, "__notes__", None)
else:
    raise AssertionError("it lived")
nbformat.write(notebook, sys.argv[2])
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    made = Environment(tmp_path_factory.mktemp("notebooks") / "env")
    done = made.set_up()
    assert done.returncode == 0, done.stderr
    return made


def notebook(path, *cells):
    made = nbformat.v4.new_notebook()
    made.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
    made.cells = [nbformat.v4.new_code_cell(cell) for cell in cells]
    nbformat.write(made, path)
    return path


def outputs(path):
    """The outputs of the second cell, the one in which the kernel dies."""
    saved = nbformat.read(path, 4)
    nbformat.validate(saved)
    assert saved.cells[2].outputs == []
    return saved.cells[1].outputs


def test_what_nbclient_leaves_has_the_verdict(environment, tmp_path):
    path, saved = notebook(tmp_path / "in.ipynb", "x = 1", KILL, "print(1)"), tmp_path / "out.ipynb"
    done = environment.run(environment.python, "-c", LIBRARY, path, saved)
    assert done.returncode == 0, done.stderr
    # What was printed a moment before may die with the kernel.
    [*_, verdict] = outputs(saved)
    assert verdict["output_type"] == "display_data"
    assert verdict["metadata"] == {"outlive": "killed_from_outside"}
    assert verdict["data"]["text/plain"].startswith("Kernel killed from outside\n")
    assert "<strong>Kernel killed from outside</strong>" in verdict["data"]["text/html"]


def test_without_a_set_up_nothing_is_added(tmp_path):
    environment = Environment(tmp_path / "env")
    path, saved = notebook(tmp_path / "in.ipynb", "x = 1", KILL, "print(1)"), tmp_path / "out.ipynb"
    done = environment.run(environment.python, "-c", LIBRARY, path, saved)
    assert done.returncode == 0, done.stderr
    assert all(output["output_type"] == "stream" for output in outputs(saved))


def test_papermill_saves_the_verdict_and_ends_as_ever(environment, tmp_path):
    path, saved = notebook(tmp_path / "in.ipynb", "x = 1", KILL, "print(1)"), tmp_path / "out.ipynb"
    bare = Environment(tmp_path / "bare")
    expected = bare.module("papermill", path, tmp_path / "bare.ipynb")
    done = environment.module("papermill", path, saved)
    assert done.returncode == expected.returncode != 0
    assert done.stderr.splitlines()[-1] == expected.stderr.splitlines()[-1]
    [*_, verdict] = outputs(saved)
    assert verdict["metadata"] == {"outlive": "killed_from_outside"}


def test_the_machines_own_kill_is_in_the_saved_notebook(environment, tmp_path):
    taking = TAKE.format(size=2 * cgroup.GIB)
    path, saved = notebook(tmp_path / "in.ipynb", "x = 1", taking, "print(1)"), tmp_path / "o.ipynb"
    [version, *_] = cgroup.versions() or [1]
    with cgroup.group_of(version, 700 * cgroup.MIB) as group:
        environment.module("papermill", path, saved, preexec_fn=group.enter)
        assert group.kills() == 1
    [*_, verdict] = outputs(saved)
    assert verdict["metadata"] == {"outlive": "out_of_memory_cgroup"}
    assert verdict["data"]["text/plain"].startswith("Kernel killed: out of memory")


@pytest.mark.parametrize("command", ["nbconvert.nbconvertapp", "nbclient.cli"])
def test_the_commands_that_save_nothing_say_it_in_their_log(environment, tmp_path, command):
    path = notebook(tmp_path / "in.ipynb", "x = 1", KILL, "print(1)")
    code = f"from {command} import main; main()"
    words = ["--to", "notebook", "--execute"] if "nbconvert" in command else []
    done = environment.run(environment.python, "-c", code, *words, "--output=saved", path)
    assert done.returncode == 1
    assert "DeadKernelError: Kernel died" in done.stderr
    assert "Kernel killed from outside" in done.stderr
    assert list(tmp_path.glob("saved*")) == []


def test_a_notebook_that_lives_is_as_ever(environment, tmp_path):
    path, saved = (
        notebook(tmp_path / "in.ipynb", "print(1)", "1 / 0", "print(2)"),
        tmp_path / "o.ipynb",
    )
    done = environment.module("papermill", path, saved)
    assert "ZeroDivisionError" in done.stderr
    cells = nbformat.read(saved, 4).cells
    kinds = [
        out["output_type"] for cell in cells if cell.cell_type == "code" for out in cell.outputs
    ]
    assert "display_data" not in kinds


def test_text_of_the_program_stays_text(environment, tmp_path):
    path, saved = (
        notebook(tmp_path / "in.ipynb", "x = 1", HOSTILE, "print(1)"),
        tmp_path / "o.ipynb",
    )
    environment.module("papermill", path, saved)
    [*_, verdict] = outputs(saved)
    tags, texts = [], []

    class Reader(html.parser.HTMLParser):
        def handle_starttag(self, tag, attributes):
            tags.append(tag)

        def handle_data(self, data):
            texts.append(data)

    Reader().feed(verdict["data"]["text/html"])
    assert set(tags) == {"div", "strong", "pre"}
    assert "onerror" in "".join(texts)


def test_the_default_stays_with_this_process(environment, tmp_path):
    """What a kernel's own programs start is not changed through their environment variables."""
    code = "import os, json\nprint(json.dumps([k for k in os.environ if 'PROVISIONER' in k]))"
    path, saved = notebook(tmp_path / "in.ipynb", code), tmp_path / "out.ipynb"
    environment.module("papermill", path, saved)
    [output] = nbformat.read(saved, 4).cells[0].outputs
    assert json.loads(output["text"]) == []
