"""How much smaller the next attempt is. Figures in, a figure out."""

from __future__ import annotations

from typing import NamedTuple

# Without a measurement.
_HALF = 0.5
# What would fill the budget exactly does not fit: growth is stopped a little below it.
_MARGIN = 0.95
# A step is at least a tenth, and twice as much each time that it was not enough, up to a half: the
# first guess may come close, and ten of them in a row would waste hours.
_LEAST_STEP = 0.1


class Shortage(NamedTuple):
    """A request that did not fit, in bytes.

    Attributes:
        requested: What was asked for.
        headroom: What was left then.
        at_start: What had been left when the attempt began, where it was measured.
    """

    requested: int
    headroom: int
    at_start: int | None = None

    def ratio(self) -> float:
        """How much of what the attempt needed there was.

        It needed what it had taken since it began, and the request.
        """
        there = self.headroom if self.at_start is None else max(self.at_start, self.headroom)
        taken = there - self.headroom
        return max(there, 0) / max(taken + self.requested, 1)


def smaller(value: int, floor: int, failures: int, shortage: Shortage | None) -> int:
    """The value for the next attempt; `floor` is only ever reached, never passed.

    Args:
        value: What was too much; above the floor.
        floor: The least that may be tried.
        failures: How many attempts have failed, this one included.
        shortage: What was measured, if anything was.
    """
    least = min(_LEAST_STEP * 2 ** (failures - 1), _HALF)
    factor = _HALF if shortage is None else min(shortage.ratio() * _MARGIN, 1 - least)
    return max(floor, min(int(value * factor), value - 1))
