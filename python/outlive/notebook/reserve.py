"""Memory kept back in a kernel, so that an error can be shown when nothing else is left.

IPython reads and parses the source of every frame to show a traceback, which takes some ten
mebibytes the first time. A cell that used up all there is would have its error end in another one.
"""

from __future__ import annotations

from outlive import _hook

_SIZE = 32 << 20
# Of a small budget it is no more than one part in so many.
_PART = 16


class Reserve:
    """What is kept back; the guard refuses it to cells."""

    def __init__(self) -> None:
        self._is_kept = False

    def keep(self) -> None:
        """Keeps it back, once there is room for it."""
        functions = _hook.functions()
        if self._is_kept or "keep_back" not in functions:
            return
        measured = functions["measure"]()
        size = min(_SIZE, measured["budget"] // _PART)
        # With less, the next small step of the user would be stopped for it.
        if measured["headroom"] > 2 * size:
            functions["keep_back"](size)
            self._is_kept = True

    def give(self) -> None:
        """Lets what follows have it."""
        if self._is_kept:
            self._is_kept = False
            _hook.functions()["keep_back"](0)
