"""A memory cgroup of one's own below the current one, version 1 or 2."""

import itertools
import os
import select
import signal
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

V1 = Path("/sys/fs/cgroup/memory")
V2 = Path("/sys/fs/cgroup")
MIB = 1 << 20
GIB = 1 << 30
_numbers = itertools.count()


@dataclass(frozen=True)
class Group:
    """A group of our own, and what the kernel counted in it."""

    version: int
    path: Path

    def enter(self):
        """Moves the calling process in. Runs between fork and exec: nothing but system calls."""
        descriptor = os.open(f"{self.path}/cgroup.procs", os.O_WRONLY)
        os.write(descriptor, b"0")
        os.close(descriptor)

    def kills(self):
        """How many processes of it the kernel killed for memory."""
        name = "memory.oom_control" if self.version == 1 else "memory.events"
        words = dict(line.split() for line in (self.path / name).read_text().splitlines())
        return int(words["oom_kill"])

    def peak(self):
        """The most memory it ever had, reclaimable pages of files included."""
        name = "memory.max_usage_in_bytes" if self.version == 1 else "memory.peak"
        return int((self.path / name).read_text())


def versions():
    """The versions that can be used here."""
    return [version for version, parent in ((1, _parent_v1()), (2, _parent_v2())) if parent]


def _own_path(wanted):
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if wanted in controllers.split(",") or (not wanted and not controllers):
            return path.lstrip("/")
    return None


def _parent_v1():
    path = _own_path("memory")
    parent = V1 / path if path is not None else None
    return parent if parent and os.access(parent / "cgroup.procs", os.W_OK) else None


def _parent_v2():
    path = _own_path("")
    if path is None or not (V2 / "cgroup.controllers").exists():
        return None
    # A group with processes cannot hand controllers down, so the new one becomes a sibling.
    for parent in (V2 / path, (V2 / path).parent):
        control = parent / "cgroup.subtree_control"
        if control.exists() and "memory" in control.read_text() and os.access(parent, os.W_OK):
            return parent
    return None


@contextmanager
def limited(version, limit):
    """A group with a limit in bytes; gives a function that moves the calling process in."""
    with group_of(version, limit) as made:
        yield made.enter


@contextmanager
def group_of(version, limit):
    """A group with a limit in bytes."""
    parent = _parent_v1() if version == 1 else _parent_v2()
    if parent is None:
        pytest.skip(f"no memory cgroup (version {version}) can be made here")
    group = parent / f"outlive-test-{os.getpid()}-{next(_numbers)}"
    group.mkdir()
    try:
        _set_limit(group, version, limit)
        yield Group(version, group)
    finally:
        _end_members(group)
        group.rmdir()


def _end_members(group):
    """Ends what a failed test left behind; a group with processes cannot be removed."""
    members = [int(pid) for pid in (group / "cgroup.procs").read_text().split()]
    watched = [os.pidfd_open(pid) for pid in members]
    for descriptor in watched:
        signal.pidfd_send_signal(descriptor, signal.SIGKILL)
    for descriptor in watched:
        select.select([descriptor], [], [])
        os.close(descriptor)


def _set_limit(group, version, limit):
    if version == 1:
        (group / "memory.limit_in_bytes").write_text(str(limit))
        swap = group / "memory.memsw.limit_in_bytes"
    else:
        (group / "memory.max").write_text(str(limit))
        swap = group / "memory.swap.max"
    if swap.exists():
        swap.write_text(str(limit if version == 1 else 0))
