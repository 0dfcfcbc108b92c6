"""The guard among locks, forks, exits and limits: it neither harms nor is fooled."""

import shutil
import sys

import pytest

from support import cgroup
from support.cgroup import MIB
from support.paths import SCRIPTS

# What each situation prints, and the limit of its group.
SAID = {
    "fork_in_a_thread": (b"child 0\n", 256 * MIB),
    "fork_in_a_small_thread": (b"child 0\n", 256 * MIB),
    "frames_of_all_threads": (b"ended\n", 256 * MIB),
    "shared_memory_attached_twice": (b"attached True\n", 512 * MIB),
    "address_space_limited": (b"mapped 2\n", 1800 * MIB),
    "objects_in_one_call": (b"caught\n", 512 * MIB),
    "limit_lowered": (b"caught\n", 1024 * MIB),
    "two_at_once": (b"[0, 0]\n", 512 * MIB),
    "holders_of_mappings": (b"['written_mapping']\n", 256 * MIB),
    "growth_beside_a_watcher": (b"stopped in time True\n", 1024 * MIB),
    "collector_and_shared_pages": (b"True True\n", 256 * MIB),
    "reservation_of_the_dead": (b"got 350\n", 512 * MIB),
}


@pytest.fixture
def version():
    return next(iter(cgroup.versions()), 1)


def played(lab, version, limit, name, *words):
    """How a situation ended in a group of its own; nothing in it may be killed by the kernel."""
    with cgroup.group_of(version, limit) as group:
        file = "memory.limit_in_bytes" if version == 1 else "memory.max"
        ended = lab.supervised(
            sys.executable,
            SCRIPTS / "guard_edges.py",
            name,
            *words,
            preexec_fn=group.enter,
            env={"LIMIT_FILE": str(group.path / file)},
        )
        assert group.kills() == 0
    return ended


@pytest.mark.parametrize("name", SAID)
def test_the_situation_ends_as_it_should(lab, version, name):
    expected, limit = SAID[name]
    ended = played(lab, version, limit, name)
    assert (ended.stdout, ended.returncode) == (expected, 0), ended.stderr.decode()


def test_an_uncaught_refusal_ends_as_an_exception(lab, version):
    ended = played(lab, version, 256 * MIB, "uncaught_with_a_slow_exit")
    assert ended.returncode == 1
    assert b"MemoryError" in ended.stderr


def test_a_mapping_that_grows_is_refused(lab, version):
    ended = played(lab, version, 512 * MIB, "mapping_that_grows")
    assert ended.stdout.startswith(b"refused "), ended.stderr.decode()


def test_what_the_collector_spared_is_finished_at_exit(lab, version, tmp_path):
    written = tmp_path / "written"
    # Room enough for what parts at the exit of a parent whose child keeps all it has.
    ended = played(lab, version, 1024 * MIB, "file_in_a_cycle", written)
    assert (ended.stdout, written.read_text()) == (b"True\n", "written"), ended.stderr.decode()


# With a good 30 MiB left: regions that do not fit are refused, and what is asked for after that is
# given; nobody else's are.
@pytest.mark.parametrize(
    ("name", "answers"),
    [("polars.abi3.so", b"[0, 0, 1, 0, 1, 1]\n"), ("other.so", b"[1, 1, 1, 1, 1, 1]\n")],
)
def test_a_library_with_another_way_gets_no_region(lab, version, compiler, tmp_path, name, answers):
    library = shutil.copy(compiler.library("region.c"), tmp_path / name)
    ended = played(lab, version, 256 * MIB, "regions", library)
    assert (ended.stdout, ended.returncode) == (answers, 0), ended.stderr.decode()
