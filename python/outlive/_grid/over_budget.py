"""The error of a grid that is larger than it may be."""

from __future__ import annotations

from outlive._native import OutliveError


class OverBudget(OutliveError, MemoryError):  # noqa: N818
    """A result would be larger than `max_bytes`; nothing was allocated for it.

    `size` is that of the result; of an iterator, that of the grid of all images that were read,
    and `images` is their number.
    """

    def __init__(
        self, size: int, budget: int, has_file: bool = True, images: int | None = None
    ) -> None:
        super().__init__(size, budget, has_file, images)
        self.size = size
        self.budget = budget
        self.images = images
        self._has_file = has_file

    def __str__(self) -> str:
        file = 'over="file" keeps it in a temporary file; ' if self._has_file else ""
        size, budget = _size(self.size), _size(self.budget)
        if size == budget:
            size, budget = f"{self.size:,} bytes", f"{self.budget:,} bytes"
        if self.images is None:
            what = f"A grid of {size} is over the budget of {budget}"
        else:
            what = (
                f"A grid of the first {self.images:,} images alone takes {size}, "
                f"over the budget of {budget}"
            )
        return (
            f"{what}\n"
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
