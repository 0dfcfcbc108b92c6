"""A series of attempts at one thing: the values to try next, and what an error changes."""

from __future__ import annotations

import logging
import sys
from typing import Any

from outlive import _hook
from outlive._memory_error import is_out_of_memory
from outlive._out_of_headroom import size_text
from outlive._recovery import drop_frames
from outlive._shrink import Shortage, smaller

_log = logging.getLogger("outlive")
_LONGEST_REASON = 120


class Series:
    """What one call or one loop knows of its attempts."""

    def __init__(self, what: str, starts: dict[str, int], floors: dict[str, int]) -> None:
        self.values = dict(starts)
        self._what = what
        self._floors = floors
        self._failures = 0
        self._outer: BaseException | None = None
        self._headroom: int | None = None
        self._refusal: dict[str, Any] | None = None

    def begin(self) -> None:
        """Looks around before an attempt: what was there already is not its doing."""
        self._outer = sys.exc_info()[1]
        measured = _asked("measure")
        self._headroom = measured["headroom"] if measured else None
        self._refusal = _asked("last_refusal")

    def goes_on_after(self, error: BaseException) -> bool:
        """Whether another attempt is worth it; if so, the error has lost what it held on to."""
        outer, self._outer = self._outer, None
        if not is_out_of_memory(error):
            return False
        self._failures += 1
        shrinkable = [name for name in self.values if self.values[name] > self._floors[name]]
        if not shrinkable:
            self._give_up(error)
            return False
        self._shrink(shrinkable[0], error)
        drop_frames(error, outer)
        return True

    def _shrink(self, name: str, error: BaseException) -> None:
        shortage = self._shortage(error)
        before = _listed(self.values)
        self.values[name] = smaller(self.values[name], self._floors[name], self._failures, shortage)
        text = "%s ran out of memory with %s: trying again with %s (%s)"
        _log.warning(text, self._what, before, _listed(self.values), _reason(error, shortage))

    def _shortage(self, error: BaseException) -> Shortage | None:
        """What was asked for and what was left, where the guard knows."""
        if hasattr(error, "holders"):
            requested, headroom = (
                getattr(error, "requested", None),
                getattr(error, "headroom", None),
            )
        else:
            refusal = _asked("last_refusal")
            # The same as before: this error was not the guard's doing.
            if not refusal or refusal == self._refusal:
                return None
            requested, headroom = refusal.get("requested"), refusal.get("headroom")
        if not requested or headroom is None:
            return None
        return Shortage(requested, headroom, self._headroom)

    def _give_up(self, error: BaseException) -> None:
        text = f"`outlive.retry` gave up at {_listed(self.values)} after attempt {self._failures}"
        # Before Python 3.11 an error carries no notes.
        if hasattr(error, "add_note"):
            error.add_note(text)
        else:
            _log.warning(text)


def _asked(name: str) -> dict[str, Any] | None:
    ask = _hook.functions().get(name)
    return None if ask is None else ask()


def _listed(values: dict[str, int]) -> str:
    return ", ".join(f"{name}={value}" for name, value in values.items())


def _reason(error: BaseException, shortage: Shortage | None) -> str:
    if shortage is not None:
        asked, left = size_text(shortage.requested), size_text(shortage.headroom)
        return f"asked for {asked} with {left} of headroom left"
    # An empty message, or a traceback of a worker: the last line that says something.
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    told = lines[-1] if lines and lines[0].startswith("Caught ") else "".join(lines[:1])
    text = f"{type(error).__name__}: {told}" if told else type(error).__name__
    return text if len(text) <= _LONGEST_REASON else text[: _LONGEST_REASON - 1] + "…"
