"""Programs that fit into their limit are left alone: same output, same end, no refusal."""

import os
import sys

import pytest

from support import cgroup
from support.cgroup import GIB, MIB
from support.paths import PROGRAMS

DEFAULT_BOX_SIZE = 32 * MIB
# What the guard keeps for itself is about a hundredth of the limit.
BUDGET_OF_LIMIT = 0.99
# Programs with the limit they fit into, and their argument as a part of it, if they want one.
FITTING = {
    "numpy_of_fifty_mib": (400 * MIB, None),
    "resnet_steps": (2 * GIB, None),
    "memory_error_caught": (256 * MIB, None),
    "array_shared_by_workers": (512 * MIB, 0.6),
    "many_threads": (256 * MIB, None),
    "reserved_address_space": (256 * MIB, None),
    "fill_numpy": (GIB, 0.95 * BUDGET_OF_LIMIT),
    "fill_numpy_at_once": (GIB, 0.95 * BUDGET_OF_LIMIT),
    "fill_torch": (GIB, 0.95 * BUDGET_OF_LIMIT),
    "fill_objects": (GIB, 0.95 * BUDGET_OF_LIMIT),
}
MEASURED = ["numpy_temporaries", "torch_training", "small_objects"]
SPARSE_BYTES = 4 * GIB


@pytest.fixture
def version():
    return next(iter(cgroup.versions()), 1)


def program(name, *arguments):
    return [sys.executable, PROGRAMS / f"{name}.py", *arguments]


def bare_in(lab, version, limit, command):
    """How a command ends in a group of its own without Outlive, and the group's peak."""
    with cgroup.group_of(version, limit) as group:
        ended = lab.bare(*command, preexec_fn=group.enter)
        return ended, group.peak()


def guarded_in(lab, version, limit, command, flags=()):
    """The same under `outlive run`; no process of the group may be killed."""
    with cgroup.group_of(version, limit) as group:
        options = {"box_size": DEFAULT_BOX_SIZE, "flags": flags}
        ended = lab.supervised(*command, preexec_fn=group.enter, **options)
        assert group.kills() == 0
        return ended, group.peak()


def assert_left_alone(lab, version, limit, command, bare):
    """Gives the peak of the group."""
    assert bare.returncode == 0, bare.stderr.decode()
    guarded, peak = guarded_in(lab, version, limit, command)
    assert guarded == bare
    assert lab.why()["verdict"]["id"] == "finished"
    return peak


def forget_pages(file):
    """Takes the pages of a file out of the cache; whoever reads it next is charged for them."""
    descriptor = os.open(file, os.O_RDONLY)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(descriptor)


@pytest.mark.parametrize("name", FITTING)
def test_a_program_that_fits_is_left_alone(lab, version, name):
    limit, part = FITTING[name]
    command = program(name, *([] if part is None else [int(part * limit)]))
    bare, _ = bare_in(lab, version, limit, command)
    assert_left_alone(lab, version, limit, command, bare)


@pytest.mark.parametrize("name", ["read_file_in_pieces", "map_file"])
def test_pages_of_files_are_no_use_of_memory(lab, version, name, tmp_path):
    file = tmp_path / "large"
    file.touch()
    os.truncate(file, 3 * GIB)
    command, limit = program(name, file), 2 * GIB
    bare, _ = bare_in(lab, version, limit, command)
    forget_pages(file)
    peak = assert_left_alone(lab, version, limit, command, bare)
    assert peak > 0.99 * limit, "the cache did not fill the group"


@pytest.mark.parametrize("name", MEASURED)
def test_a_limit_of_105_percent_of_the_peak_is_enough(lab, version, name):
    command = program(name)
    # In the first run the pages of the libraries' files are charged to the group as well.
    bare_in(lab, version, 4 * GIB, command)
    bare, peak = bare_in(lab, version, 4 * GIB, command)
    assert_left_alone(lab, version, int(1.05 * peak), command, bare)


def test_a_sparse_array_is_refused_and_the_way_out_is_named(lab, version):
    refused, _ = guarded_in(lab, version, GIB, program("sparse_zeros", SPARSE_BYTES))
    assert refused.returncode == 1
    assert b"MemoryError" in refused.stderr
    assert b"--allow-sparse" in refused.stderr
    assert lab.why()["verdict"]["id"] == "allocation_refused"


def test_a_sparse_array_is_let_through_when_allowed(lab, version):
    command = program("sparse_zeros", SPARSE_BYTES)
    bare, _ = bare_in(lab, version, GIB, command)
    assert bare.returncode == 0, bare.stderr.decode()
    allowed, _ = guarded_in(lab, version, GIB, command, flags=["--allow-sparse"])
    assert allowed == bare
