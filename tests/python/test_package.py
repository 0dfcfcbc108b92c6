"""The installed package: the command, `python -m outlive`, and the Python interface."""

import ast
import os
import shutil
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest

import outlive
from outlive import _native
from support.paths import SCRIPTS

# A size that nothing else asks for, to find the line again.
RARE_SIZE = 12_345_678
HOLDING = f"kept = bytearray({RARE_SIZE}); raise SystemExit(3)"


def run_module(*words):
    """Runs `python -m outlive` with these words."""
    command = [sys.executable, "-m", "outlive", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def recorded(tmp_path, monkeypatch):
    """The black boxes of a program that kept memory and ended with code 3."""
    monkeypatch.setenv("OUTLIVE_HOME", str(tmp_path))
    finished = run_module("run", "--quiet", "--", sys.executable, "-c", HOLDING)
    assert (finished.returncode, finished.stderr) == (3, "")
    return sorted(tmp_path.glob("runs/*/*.box"))


def test_the_module_is_the_command():
    finished = run_module("--version")
    assert finished.stdout == f"outlive {outlive.__version__}\n"
    assert run_module("no-such-command").returncode == 2


def test_the_command_is_native_code():
    # Started by the installer's own file, not by a Python script that would cost its start-up.
    program = Path(sys.executable).parent / "outlive"
    assert program.read_bytes()[:4] == b"\x7fELF"
    assert os.access(program, os.X_OK)


def test_a_box_names_its_process_and_the_line_that_held_memory(recorded):
    [path] = recorded
    recording = outlive.read(path)
    assert recording.is_complete
    assert path.name == f"{recording.identity.pid}-{recording.identity.start_ticks}.box"
    assert recording.identity.argv[-1] == HOLDING
    assert recording.identity.python == sys.version_info[:3]
    assert recording.totals.peak_bytes >= RARE_SIZE
    [holder] = [stack for stack in recording.stacks if stack.largest >= RARE_SIZE]
    assert holder.kind == "python"
    assert (holder.frames[0].file, holder.frames[0].line) == ("<string>", 1)


def test_a_box_has_the_notes_of_the_recorder(tmp_path, monkeypatch):
    monkeypatch.setenv("OUTLIVE_HOME", str(tmp_path))
    refused = "try: bytearray(1 << 40)\nexcept MemoryError: pass"
    run_module("run", "--quiet", "--limit", "1GiB", "--", sys.executable, "-c", refused)
    [path] = tmp_path.glob("runs/*/*.box")
    [note] = outlive.read(path).notes
    assert note.startswith("Refused a request")


READ_LEDGER = """
import os
from outlive import _native
folder = os.environ["OUTLIVE_RUN_DIR"]
try:
    bytearray(1 << 40)
except MemoryError:
    print(_native.ledger(folder))
"""


def test_the_ledger_of_a_run_tells_what_it_uses_and_may_use(tmp_path, monkeypatch):
    monkeypatch.setenv("OUTLIVE_HOME", str(tmp_path))
    command = ["run", "--quiet", "--limit", "1GiB", "--", sys.executable, "-c", READ_LEDGER]
    facts = ast.literal_eval(run_module(*command).stdout)
    assert (facts["source"], facts["limit"]) == ("--limit", 1 << 30)
    assert 0 < facts["budget"] < 1 << 30
    assert facts["use"] == facts["budget"] - facts["headroom"]
    assert (facts["refusals"], facts["stops"]) == (1, 0)
    assert 0 < facts["measured_ns"] <= time.monotonic_ns()
    [folder] = tmp_path.glob("runs/*")
    assert _native.ledger(folder) is None, "a run that is over has none"


@pytest.mark.parametrize("content", [None, b"", b"x" * (64 << 10), b"OUTLEDG\x01", b"\0" * 70_000])
def test_what_is_no_ledger_is_none(tmp_path, content):
    if content is not None:
        (tmp_path / "ledger").write_bytes(content)
    assert _native.ledger(tmp_path) is None


def test_any_bytes_of_a_ledger_are_safe_and_a_pipe_is_not_waited_for(tmp_path):
    path = tmp_path / "ledger"
    path.write_bytes(b"OUTLEDG\x01" + b"\xff" * ((64 << 10) - 8))
    facts = _native.ledger(tmp_path)
    assert facts is not None
    assert facts["source"].startswith("memory cgroup")
    path.unlink()
    os.mkfifo(path)
    assert _native.ledger(tmp_path) is None


def test_why_gives_the_verdict_as_data(recorded):
    assert len(recorded) == 1
    answer = outlive.why()
    assert set(answer["verdict"]) >= {"id", "confidence", "summary", "evidence", "ruled_out"}
    assert {"first_death", "memory", "holders", "processes"} <= set(answer)


def test_why_says_that_there_is_no_such_run(recorded):
    assert len(recorded) == 1
    with pytest.raises(outlive.CommandError, match="No run `nonesuch`"):
        outlive.why("nonesuch")


def test_a_missing_file_is_an_os_error_with_its_name(tmp_path):
    missing = tmp_path / "missing.box"
    with pytest.raises(FileNotFoundError) as caught:
        outlive.read(missing)
    assert caught.value.filename == str(missing)


@pytest.mark.parametrize("content", [b"", b"x" * 4096])
def test_another_file_is_not_a_black_box(tmp_path, content):
    path = tmp_path / "other.box"
    path.write_bytes(content)
    with pytest.raises(outlive.NotABlackBoxError, match=r"other\.box"):
        outlive.read(path)


def test_a_box_of_a_later_format_is_refused_with_both_versions(recorded, tmp_path):
    [path] = recorded
    later = bytearray(path.read_bytes())
    later[8:12] = struct.pack("<I", 99)
    copy = tmp_path / "later.box"
    copy.write_bytes(later)
    with pytest.raises(outlive.FormatTooNewError, match="format 99, this Outlive reads up to 1"):
        outlive.read(copy)


def test_a_box_that_was_cut_off_gives_what_is_left(recorded, tmp_path):
    [path] = recorded
    copy = tmp_path / "cut.box"
    copy.write_bytes(path.read_bytes()[: 1 << 16])
    recording = outlive.read(copy)
    assert not recording.is_complete
    assert recording.identity.pid == outlive.read(path).identity.pid
    assert recording.samples == []


def test_every_public_name_is_there_and_documented():
    assert sorted(outlive.__all__) == outlive.__all__
    for name in set(outlive.__all__) - {"__version__"}:
        public = getattr(outlive, name)
        assert public.__doc__, name
        assert not isinstance(public, type) or public.__module__.partition(".")[0] == "outlive"


def test_importing_the_package_loads_nothing_else():
    # A pool's thread imports it to read the exception of a worker, when hardly anything is left.
    script = (
        "import sys; before = {*sys.modules}; import outlive; outlive.OutOfHeadroom\n"
        "print(*sorted({*sys.modules} - before))"
    )
    ended = subprocess.run([sys.executable, "-c", script], stdout=subprocess.PIPE, check=True)
    assert ended.stdout == b"outlive outlive._out_of_headroom\n"


def test_names_that_the_package_does_not_have_are_missed():
    assert {*outlive.__all__} <= {*dir(outlive)}
    with pytest.raises(AttributeError, match="'outlive' has no attribute 'gard'"):
        outlive.gard  # noqa: B018


def test_the_package_works_on_every_python(lab, interpreter):
    package = Path(outlive.__file__).parent
    shutil.copytree(package, lab.folder / "outlive", ignore=shutil.ignore_patterns("_lib"))
    ended = interpreter.hooked(lab, SCRIPTS / "package.py")
    assert ended.returncode == 0, ended.stderr.decode()
    assert ended.stdout == b"16 2 2\n"
