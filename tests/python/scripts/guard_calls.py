"""Asks the package about memory, by name, and prints the answers as JSON."""

import contextlib
import json
import mmap
import multiprocessing
import os
import pickle
import resource
import sys
import threading
from pathlib import Path

import outlive

MIB = 1 << 20


def is_granted(size):
    """Whether a block of this size is to be had."""
    try:
        bytearray(size)
    except MemoryError:
        return False
    return True


def is_mapped(size):
    """The same of a mapping. Unlike a block of bytes, it is never touched."""
    try:
        mmap.mmap(-1, size, mmap.MAP_PRIVATE).close()
    except OSError:
        return False
    return True


def usage():
    """What is used, with a file in the page cache that is larger than everything else."""
    cached = Path(sys.argv[2])
    with cached.open("wb") as file:
        for _ in range(100):
            file.write(bytes(MIB))
    measured = outlive.usage()
    return {**measured._asdict(), "text": str(measured), "alone": outlive.headroom()}


def usage_in_inner_group():
    """The same from a cgroup without a limit below the one that has it."""
    group = Path(sys.argv[2])
    inner = group / "inner"
    inner.mkdir()
    try:
        (inner / "cgroup.procs").write_text(str(os.getpid()))
        return outlive.usage()._asdict()
    finally:
        (group / "cgroup.procs").write_text(str(os.getpid()))
        inner.rmdir()


def limited_process():
    """A limit on the address space, a little above what is used of it."""
    [pages, *_] = Path("/proc/self/statm").read_text().split()
    limit = int(pages) * resource.getpagesize() + 100 * MIB
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    return {"limit": limit, **outlive.usage()._asdict()}


def not_guarded():
    messages = []
    for call in (outlive.sparse, lambda: outlive.guard("2GiB")):
        try:
            call()
        except outlive.NotGuarded as error:
            messages.append(str(error))
    return messages


def block():
    """A limit for a block: what is granted before, inside and after it."""
    size = 100 * MIB
    granted = [is_granted(size)]
    with outlive.guard(outlive.usage().use + 50 * MIB):
        granted.append(is_granted(size))
        source = outlive.usage().source
    return [*granted, is_granted(size), source]


def rest():
    """A limit for the rest of the process."""
    outlive.guard(outlive.usage().use + 50 * MIB)
    return [is_granted(100 * MIB), is_granted(10 * MIB)]


def nested():
    """The lowest limit holds, in whatever order they come and go."""
    use = outlive.usage().use
    budgets = [outlive.usage().budget]
    with outlive.guard(use + 100 * MIB):
        budgets.append(outlive.usage().budget)
        with outlive.guard(use + 200 * MIB):
            budgets.append(outlive.usage().budget)
        with outlive.guard("50%") as half:
            budgets.append(outlive.usage().budget)
    budgets.append(outlive.usage().budget)
    return [use, half.limit, *budgets]


def nonsense():
    messages = []
    for limit in ("0", "-1", "12XB", "", "0%", "150%", "auto", 0, -1, "1MiB", None, 1.5):
        try:
            outlive.guard(limit)
        except (ValueError, TypeError) as error:
            messages.append(str(error).splitlines()[0])
    return [*messages, is_granted(100 * MIB)]


def sparse():
    """A block larger than the budget, outside, inside, nested, in another thread, after."""
    size = int(sys.argv[2])
    elsewhere = []
    granted = [is_mapped(size)]
    with outlive.sparse():
        with outlive.sparse():
            granted.append(is_mapped(size))
        granted.append(is_mapped(size))
        thread = threading.Thread(target=lambda: elsewhere.append(is_mapped(size)))
        thread.start()
        thread.join()
    return [*granted, *elsewhere, is_mapped(size)]


def stopped():
    """Grows by small pieces until the guard stops it; the exception and its copy."""
    kept = []
    try:
        while True:
            kept.append(bytearray(64 << 10))
    except outlive.OutOfHeadroom as error:
        size = sum(map(len, kept))
        kept.clear()
        copy = pickle.loads(pickle.dumps(error))
        facts = {
            name: getattr(error, name)
            for name in ("requested", "headroom", "budget", "source", "holders")
        }
        same = (type(copy) is type(error), vars(copy) == vars(error), str(copy) == str(error))
        return {"size": size, "text": str(error), "same": same, **facts}


def _grow(_):
    kept = []
    while True:
        kept.append(bytearray(64 << 10))


def stopped_in_pool():
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        try:
            pool.map(_grow, [0])
        except outlive.OutOfHeadroom as error:
            return {"text": str(error), "holders": error.holders, "budget": error.budget}


if __name__ == "__main__":
    with contextlib.redirect_stdout(sys.stderr):
        answer = globals()[sys.argv[1]]()
    print(json.dumps(answer))
