"""The error of a grid that is larger than it may be."""

from __future__ import annotations

from outlive._native import OutliveError


class OverBudget(OutliveError, MemoryError):  # noqa: N818
    """A result would be larger than `max_bytes`; nothing was allocated for it.

    `size` is that of the result; of an iterator, that of the grid of all images that were read.
    """

    def __init__(self, size: int, budget: int, has_file: bool = True) -> None:
        super().__init__(size, budget, has_file)
        self.size = size
        self.budget = budget
        self._has_file = has_file

    def __str__(self) -> str:
        file = 'over="file" keeps it in a temporary file; ' if self._has_file else ""
        return (
            f"A grid of {_size(self.size)} is over the budget of {_size(self.budget)}\n"
            f"hint: {file}outlive.Grid and `outlive grid DIR -o page/` draw any number of images "
            "in constant memory"
        )


def _size(count: int) -> str:
    for unit, power in (("GiB", 30), ("MiB", 20)):
        if count >= 1 << power:
            return f"{count / (1 << power):.1f} {unit}"
    return f"{count / (1 << 10):.1f} KiB"


# What a traceback shows, and where it can be imported from.
OverBudget.__module__ = "outlive"
