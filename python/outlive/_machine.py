"""The memory limits of this process, for where no hook measures them.

Memory cgroups of both versions with all their ancestors, the machine's own memory, and the limits
of the process itself.
"""

from __future__ import annotations

import resource
from pathlib import Path, PurePosixPath
from typing import NamedTuple

# Above this the first version of cgroups means "no limit" (it rounds down to pages).
_UNLIMITED = 1 << 62


class Room(NamedTuple):
    """One limit and what counts against it, in bytes."""

    limit: int
    use: int
    source: str


class _Mount(NamedTuple):
    version: int
    root: PurePosixPath
    point: Path


# By version: limit, usage, and the entries of `memory.stat` that can be taken back before a kill.
_FILES = {
    1: ("memory.limit_in_bytes", "memory.usage_in_bytes"),
    2: ("memory.max", "memory.current"),
}
_RECLAIMABLE = {
    1: ("total_inactive_file", "total_active_file"),
    2: ("inactive_file", "active_file", "slab_reclaimable"),
}


def tightest() -> Room:
    """The limit that leaves least.

    Raises:
        OSError: `/proc` cannot be read.
    """
    rooms = [_machine_room(), *_process_rooms(), *_cgroup_rooms()]
    return min(rooms, key=lambda room: room.limit - room.use)


def resident() -> int:
    """Resident anonymous and shared memory of this process."""
    status = _entries(Path("/proc/self/status"))
    return status["RssAnon"] + status["RssShmem"]


def _machine_room() -> Room:
    use = resident()
    available = _entries(Path("/proc/meminfo"))["MemAvailable"]
    return Room(available + use, use, "memory of the machine")


def _process_rooms() -> list[Room]:
    status = _entries(Path("/proc/self/status"))
    rooms = []
    for name, entry in (("RLIMIT_AS", "VmSize"), ("RLIMIT_DATA", "VmData")):
        limit, _ = resource.getrlimit(getattr(resource, name))
        if limit != resource.RLIM_INFINITY:
            rooms.append(Room(limit, status[entry], name))
    return rooms


def _cgroup_rooms() -> list[Room]:
    mounts = _mounts(Path("/proc/self/mountinfo").read_text(encoding="utf-8"))
    groups = Path("/proc/self/cgroup").read_text(encoding="utf-8")
    rooms = []
    for mount in mounts:
        path = _own_path(groups, mount.version)
        if path is None:
            continue
        for folder in _chain(mount, path):
            room = _cgroup_room(mount, folder)
            if room is not None:
                rooms.append(room)
    return rooms


def _cgroup_room(mount: _Mount, folder: Path) -> Room | None:
    limit_file, usage_file = _FILES[mount.version]
    try:
        # `max` is not a number: no limit.
        limit = int((folder / limit_file).read_text(encoding="ascii"))
        usage = int((folder / usage_file).read_text(encoding="ascii"))
        statistics = (folder / "memory.stat").read_text(encoding="ascii")
    except (OSError, ValueError):
        return None
    if limit >= _UNLIMITED:
        return None
    entries = dict(line.split(" ", 1) for line in statistics.splitlines())
    cache = sum(int(entries.get(name, 0)) for name in _RECLAIMABLE[mount.version])
    name = "/" / PurePosixPath(folder).relative_to(mount.point)
    return Room(limit, max(usage - cache, 0), f"memory cgroup {name}")


def _mounts(text: str) -> list[_Mount]:
    """Where the memory controllers are, from `mountinfo`; the first of each version."""
    found: dict[int, _Mount] = {}
    for line in text.splitlines():
        left, _, right = line.partition(" - ")
        kind, _, options = right.split(" ", 2)
        version = {"cgroup": 1, "cgroup2": 2}.get(kind)
        if version is None or (version == 1 and "memory" not in options.split(",")):
            continue
        root, point = (_unescaped(word) for word in left.split(" ")[3:5])
        found.setdefault(version, _Mount(version, PurePosixPath(root), Path(point)))
    return list(found.values())


def _own_path(groups: str, version: int) -> str | None:
    """The cgroup of this process, from the text of `/proc/self/cgroup`."""
    wanted = "memory" if version == 1 else ""
    for line in groups.splitlines():
        _, controllers, path = line.split(":", 2)
        if wanted in controllers.split(","):
            return path
    return None


def _chain(mount: _Mount, path: str) -> list[Path]:
    """The folder of a cgroup and those above it up to the mount point, innermost first.

    A container sees its own cgroup at the mount point; names that lead out of what is visible give
    the mount point too.
    """
    try:
        inside = PurePosixPath(path).relative_to(mount.root)
    except ValueError:
        inside = PurePosixPath()
    inner = mount.point / inside
    if ".." in inside.parts or not inner.is_dir():
        return [mount.point]
    above = [folder for folder in inner.parents if mount.point in (folder, *folder.parents)]
    return [inner, *above]


def _entries(path: Path) -> dict[str, int]:
    """Bytes by name, of a file with lines such as `MemTotal: 16 kB`."""
    entries = {}
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        name, _, value = line.partition(":")
        if value.endswith(" kB"):
            entries[name] = int(value[:-3]) * 1024
    return entries


def _unescaped(text: str) -> str:
    """Spaces and the like stand as octal numbers in `mountinfo`."""
    return text.replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\")
