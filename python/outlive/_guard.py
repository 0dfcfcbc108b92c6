"""`outlive.guard` and `outlive.sparse`: what a program may ask of the guard around it."""

from __future__ import annotations

import threading
from types import TracebackType

from outlive import _attach, _hook, _limit
from outlive._usage import usage

# The limits in force in this process. Appending and removing are single steps of the interpreter.
_in_force: list[Guard] = []
_threads = threading.local()


def guard(limit: int | str) -> Guard:
    """Lowers the budget: for the rest of the process, or for a `with` block.

    A process that runs without the guard gets it first, with the black box, and keeps both until
    it ends.

    The limit is on what the whole program uses, its other processes included; requests of this
    process are refused and its growth is stopped above it. Of several limits the lowest holds, and
    none can raise the budget.

    Args:
        limit: Bytes, a size such as `2GiB`, or a share such as `80%` of the present budget.

    Returns:
        The limit, in force already. As a context manager it ends with the block.

    Raises:
        NotGuarded: This process runs without the guard, and cannot be given it.
        CommandError: The `outlive` program is missing or failed.
        ValueError: The limit makes no sense, or is below what is in use.
    """
    _attach.attach()
    now = usage()
    count = _limit.limit_bytes(limit, now.budget)
    _limit.refuse_below(limit, count, now.use)
    made = Guard(count)
    made.begin()
    return made


def sparse() -> Sparse:
    """Lets arrays larger than the budget pass that stay mostly empty, inside a `with` block.

    Requests of this thread are granted whatever their size; growth is still stopped when the pages
    that are really used come near the budget.

    Raises:
        NotGuarded: This process runs without the guard.
    """
    _hook.function("sparse", "outlive.sparse")
    return Sparse()


class Guard:
    """A limit that `outlive.guard` made."""

    def __init__(self, limit: int) -> None:
        self.limit = limit

    def begin(self) -> None:
        """Puts the limit in force, unless it is."""
        if self not in _in_force:
            _in_force.append(self)
            _apply()

    def end(self) -> None:
        """Takes the limit away, if it is in force."""
        if self in _in_force:
            _in_force.remove(self)
            _apply()

    def __enter__(self) -> Guard:
        self.begin()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.end()

    def __repr__(self) -> str:
        state = "in force" if self in _in_force else "ended"
        return f"<outlive.guard of {self.limit} bytes, {state}>"


class Sparse:
    """What `outlive.sparse` gives; it counts for the thread that enters it."""

    def __enter__(self) -> Sparse:
        _threads.depth = getattr(_threads, "depth", 0) + 1
        _hook.function("sparse", "outlive.sparse")(True)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        _threads.depth -= 1
        if _threads.depth == 0:
            _hook.function("sparse", "outlive.sparse")(False)


def _apply() -> None:
    tighten = _hook.function("tighten", "outlive.guard")
    # No lock, which a fork could leave taken: whoever applied last looks whether it still holds.
    while True:
        lowest = min((made.limit for made in _in_force), default=0)
        tighten(lowest)
        if lowest == min((made.limit for made in _in_force), default=0):
            return
