"""Who holds memory by the name of a variable: a walk through what the user's names lead to.

Bounded in time and in objects; memory that several names share is counted once, for the first.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterable, Iterator
from typing import Any, Callable, NamedTuple

from outlive.notebook.buffers import NUMBERS, SMALL, Buffer, Library, Thing
from outlive.notebook.words import words

# Of all variables together, and of one: the last ones are to have a chance too.
_SECONDS = 0.045
_SECONDS_EACH = 0.02
_OBJECTS_EACH = 20_000
# Below this a variable is no one's problem.
_WORTH_NAMING = 64 << 10
# Smaller blocks are not asked for one by one, neither where they came from nor who shares them.
_WORTH_A_PLACE = 1024
_NUMBER_BYTES = 28
# This share of a sample has to be different objects, for the rest to be taken as more of the same.
_DISTINCT = 0.9
# The clock is looked at once in so many objects.
_LOOKS_BETWEEN = 32

Names = list[tuple[str, Any]]
PlaceOf = Callable[[int], "tuple[int, str] | None"]


class Holder(NamedTuple):
    """A variable and what it holds.

    Attributes:
        name: Of the variable.
        bytes: Of the host's memory, what only earlier ones hold not counted again.
        what: The object in words.
        place: Where most of it was allocated, `file:line in function`; empty if not known.
        estimated: Part of it was not looked at, and is taken to be like the rest.
    """

    name: str
    bytes: int
    what: str
    place: str = ""
    estimated: bool = False


class Survey(NamedTuple):
    """What all variables hold.

    Attributes:
        holders: Largest first; those that hold nearly nothing are left out.
        lines: How many bytes of each place the variables explain.
        placeless: How many bytes they hold of which the place is not known.
        complete: Whether all could be looked at in the time there was.
    """

    holders: list[Holder]
    lines: dict[str, int]
    placeless: int
    complete: bool


def survey(groups: list[Names], unseen: Iterable[Any], place_of: PlaceOf) -> Survey:
    """Looks at variables.

    Args:
        groups: Variables and their objects; what several groups share counts for the first.
        unseen: Objects that are not to be entered: the namespace itself, the shell.
        place_of: Where the block at an address was allocated.
    """
    with _plain_torch():
        return _Walk(unseen, place_of).all(groups)


class _Walk:
    def __init__(self, unseen: Iterable[Thing], place_of: PlaceOf) -> None:
        self._library = Library()
        self._seen = {id(one) for one in unseen}
        self._addresses: set[int] = set()
        self._place_of = place_of
        self._lines: dict[str, int] = {}
        self._placed = 0.0
        self._complete = True
        self._end = time.monotonic() + _SECONDS

    def all(self, groups: list[Names]) -> Survey:
        found = []
        for name, thing in (item for names in groups for item in self._ordered(names)):
            if time.monotonic() > self._end:
                self._complete = False
                break
            # An object may be as hostile as it likes: then it is not looked at.
            with contextlib.suppress(Exception):
                holder = None if self._is_small(thing) else self._one(name, thing)
                if holder is not None:
                    found.append(holder)
        found.sort(key=lambda holder: -holder.bytes)
        placeless = sum(holder.bytes for holder in found) - int(self._placed)
        return Survey(found, self._lines, max(placeless, 0), self._complete)

    def _ordered(self, names: Names) -> Names:
        # Arrays first: they are quick, and hold most. Of containers the newest first, which is
        # likelier to be the one that grew.
        leaves: Names = []
        walked: Names = []
        for item in names:
            with contextlib.suppress(Exception):
                (leaves if self._library.is_leaf(item[1]) else walked).append(item)
        return [*reversed(leaves), *reversed(walked)]

    def _is_small(self, thing: Thing) -> bool:
        """Whether a look is enough; most of 10,000 variables are numbers and short lists."""
        buffers, children, _ = self._library.contents(thing)
        return (
            sum(one.bytes for one in buffers) < _WORTH_NAMING
            and all(type(child) in SMALL for child in children[:_LOOKS_BETWEEN])
            and len(children) < _LOOKS_BETWEEN
        )

    def _one(self, name: str, thing: Thing) -> Holder | None:
        end = min(self._end, time.monotonic() + _SECONDS_EACH)
        total, estimated, count = 0.0, False, 0
        places: dict[str, int] = {}
        pending: list[tuple[Any, float]] = [(thing, 1.0)]
        while pending:
            current, factor = pending.pop()
            if id(current) in self._seen:
                continue
            self._seen.add(id(current))
            count += 1
            if count > _OBJECTS_EACH or (not count % _LOOKS_BETWEEN and time.monotonic() > end):
                self._complete = False
                estimated = True
                break
            buffers, children, more = self._library.contents(current)
            for buffer in buffers:
                total += self._counted(buffer, factor, places)
            distinct = {id(child): child for child in children}
            # The same few objects over and over are not more for being there more often.
            inner = factor * (more if len(distinct) > _DISTINCT * len(children) else 1.0)
            estimated = estimated or inner > 1.0
            for child in distinct.values():
                if type(child) in NUMBERS:
                    total += _NUMBER_BYTES * inner
                elif type(child) not in SMALL:
                    pending.append((child, inner))
        if total < _WORTH_NAMING:
            return None
        place = max(places, key=lambda one: places[one], default="")
        return Holder(name, int(total), words(thing), place, estimated)

    def _counted(self, buffer: Buffer, factor: float, places: dict[str, int]) -> float:
        address, count = buffer
        if not address or count < _WORTH_A_PLACE:
            return count * factor
        if address in self._addresses:
            return 0.0
        self._addresses.add(address)
        known = self._place_of(address)
        if known is not None:
            place, size = known[1], int(count * factor)
            self._placed += size
            places[place] = places.get(place, 0) + size
            self._lines[place] = self._lines.get(place, 0) + size
        return count * factor


@contextlib.contextmanager
def _plain_torch() -> Iterator[None]:
    """Keeps functions that a tensor's subclass overrides out of it."""
    core = getattr(sys.modules.get("torch"), "_C", None)
    plain = getattr(core, "DisableTorchFunction", None)
    with contextlib.nullcontext() if plain is None else plain():
        yield
