"""How much memory the program uses, and how much it may."""

from __future__ import annotations

from typing import NamedTuple

from outlive import _hook, _machine
from outlive._out_of_headroom import size_text


class Usage(NamedTuple):
    """Memory in bytes, at one instant.

    Attributes:
        use: What counts against the budget: memory that cannot be taken back, and what was granted
            and not yet touched. Page cache is not use.
        budget: What may be used.
        headroom: The budget less the use; not below 0.
        source: What sets the budget: `memory cgroup /user.slice`, `memory of the machine`,
            `RLIMIT_AS`, `RLIMIT_DATA`; under the guard also `--limit` and `outlive.guard`.
        resident: Resident anonymous and shared memory of this process.
        untouched: Granted and not yet touched; 0 where nothing guards this process.
    """

    use: int
    budget: int
    headroom: int
    source: str
    resident: int
    untouched: int

    def __str__(self) -> str:
        share = f" ({100 * self.use // self.budget} %)" if self.budget > 0 else ""
        untouched = f", {size_text(self.untouched)} untouched" if self.untouched else ""
        return (
            f"{size_text(self.use)} of {size_text(self.budget)}{share} in use, "
            f"{size_text(self.headroom)} of headroom, {size_text(self.resident)} resident"
            f"{untouched}; budget by {self.source}"
        )


def usage() -> Usage:
    """What is used and what may be, now.

    Under `outlive run` these are the figures by which the guard decides, of the whole process tree
    and less a small reserve. Elsewhere they are read from `/proc` and the memory cgroups, for this
    process alone where the budget is the machine's memory or a limit of the process.

    Raises:
        OSError: `/proc` cannot be read.
    """
    measure = _hook.functions().get("measure")
    if measure is not None:
        figures = measure()
        measured = Usage(**{name: figures[name] for name in Usage._fields})
    else:
        limit, use, source = _machine.tightest()
        measured = Usage(use, limit, limit - use, source, _machine.resident(), 0)
    return measured._replace(headroom=max(measured.headroom, 0))


def headroom() -> int:
    """Bytes that may still be used: the budget less the use; see `usage`.

    Raises:
        OSError: `/proc` cannot be read.
    """
    return usage().headroom
