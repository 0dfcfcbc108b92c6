"""No place for the black box: one clear line, and the program runs all the same."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from support import paths
from support.paths import SCRIPTS

COMMAND = [sys.executable, "-c", "print('still here'); raise SystemExit(5)"]


@pytest.fixture
def small_disk(tmp_path):
    """A file system with less room than a box takes."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a file system")
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", folder]
    if subprocess.run(mount, check=False, capture_output=True).returncode != 0:
        pytest.skip("no file system can be mounted here")
    yield folder
    subprocess.run(["umount", folder], check=True)


def assert_ran_unrecorded(ended, word):
    assert ended.stdout == b"still here\n"
    assert ended.returncode == 5
    [line] = ended.stderr.decode().splitlines()
    assert line.startswith("outlive: ") or "Not recorded" in line
    assert word in line


def test_a_full_disk(lab, small_disk):
    ended = lab.supervised(*COMMAND, quiet=False, env={"OUTLIVE_HOME": str(small_disk)})
    assert_ran_unrecorded(ended, "Disk full")


def test_a_disk_that_fills_up_later(lab, small_disk):
    # The hook alone, where nobody has looked beforehand.
    ended = lab.hooked(*COMMAND, env={"OUTLIVE_RUN_DIR": str(small_disk)})
    assert (ended.returncode, ended.stdout, ended.stderr) == (5, b"still here\n", b"")
    assert list(small_disk.glob("*.box")) == []


def test_a_home_that_is_a_file(lab):
    home = lab.folder / "file"
    home.write_text("")
    ended = lab.supervised(*COMMAND, quiet=False, env={"OUTLIVE_HOME": str(home)})
    assert_ran_unrecorded(ended, str(home))


def test_a_home_on_a_read_only_file_system(lab):
    ended = lab.supervised(*COMMAND, quiet=False, env={"OUTLIVE_HOME": "/proc/outlive"})
    assert_ran_unrecorded(ended, "/proc/outlive")


@pytest.fixture
def public_program():
    """A copy of `outlive` in a folder that every user may read."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        shutil.copy(paths.hook(), Path(folder, paths.HOOK_NAME))
        yield shutil.copy(paths.program(), folder)


def test_a_folder_without_permission(lab, public_program):
    home = "/outlive-test-home"
    words = [public_program, "run", "--", "/bin/sh", "-c", "echo still here; exit 5"]
    # Root may write everywhere, so a user without rights does it.
    become = [sys.executable, SCRIPTS / "as_nobody.py"] if os.geteuid() == 0 else []
    hook = {"OUTLIVE_HOOK_LIBRARY": str(Path(public_program).parent / paths.HOOK_NAME)}
    ended = lab.bare(*become, *words, cwd="/", env={"OUTLIVE_HOME": home, **hook})
    assert_ran_unrecorded(ended, home)


def test_no_line_when_quiet(lab):
    home = lab.folder / "file"
    home.write_text("")
    ended = lab.supervised(*COMMAND, env={"OUTLIVE_HOME": str(home)})
    assert (ended.returncode, ended.stdout, ended.stderr) == (5, b"still here\n", b"")


def test_a_run_folder_that_is_gone(lab):
    gone = {"OUTLIVE_RUN_DIR": str(lab.folder / "gone")}
    ended = lab.hooked(*COMMAND, env=gone)
    assert (ended.returncode, ended.stdout, ended.stderr) == (5, b"still here\n", b"")


@pytest.mark.parametrize("size", ["0", "-1", "many", "99999999999999999999999", ""])
def test_a_size_that_makes_no_sense(lab, size):
    ended = lab.hooked(*COMMAND, env={"OUTLIVE_BOX_SIZE": size})
    assert (ended.returncode, ended.stdout, ended.stderr) == (5, b"still here\n", b"")
    assert lab.box().is_complete
