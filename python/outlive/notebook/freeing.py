"""Lets go of variables: the names, what IPython kept of the same objects, and the last error."""

from __future__ import annotations

import gc
import re
import sys
from types import TracebackType
from typing import NamedTuple

from outlive import _recovery, _usage
from outlive.notebook.buffers import Thing
from outlive.notebook.shell import Shell

_CACHED = re.compile(r"_+|_[0-9]+")
_LAST = ("last_exc", "last_value", "last_type", "last_traceback")


class Freed(NamedTuple):
    """What came of it.

    Attributes:
        bytes: By how much the use went down, measured.
        kept_by: Other names that still refer to the same objects.
    """

    bytes: int
    kept_by: list[str]


def free(ip: Shell, named: dict[str, Thing]) -> Freed:
    """Removes variables and gives their memory back.

    Args:
        ip: The shell.
        named: Variables, or outputs as `Out[3]`, and their objects; emptied.
    """
    before = _usage.usage().use
    for name in named:
        ip.user_ns.pop(name, None)
        ip.user_ns_hidden.pop(name, None)
    wanted = {id(thing) for thing in named.values()}
    _forget_outputs(ip, wanted)
    _forget_errors(ip, wanted)
    kept_by = sorted(
        name
        for name, value in list(ip.user_ns.items())
        if id(value) in wanted and isinstance(name, str)
    )
    named.clear()
    gc.collect()
    _recovery.release()
    return Freed(max(before - _usage.usage().use, 0), kept_by)


def _forget_outputs(ip: Shell, wanted: set[int]) -> None:
    outputs = ip.user_ns.get("_oh")
    for number in [key for key, value in list(dict.items(outputs or {})) if id(value) in wanted]:
        del outputs[number]
    for name, value in list(ip.user_ns.items()):
        if id(value) in wanted and isinstance(name, str) and _CACHED.fullmatch(name):
            # `_`, `__` and `___` are expected to be there.
            if name.strip("_"):
                del ip.user_ns[name]
            else:
                ip.user_ns[name] = ""
    # What IPython puts into the namespace itself it notes here too, with the value.
    hidden = ip.user_ns_hidden
    for name in [name for name, value in list(hidden.items()) if id(value) in wanted]:
        del hidden[name]
    for name in ("_", "__", "___"):
        if id(getattr(ip.displayhook, name, None)) in wanted:
            setattr(ip.displayhook, name, "")
    result = getattr(ip, "last_execution_result", None)
    if result is not None and id(result.result) in wanted:
        result.result = None


def _forget_errors(ip: Shell, wanted: set[int]) -> None:
    """Drops the last error where its frames hold one of the objects."""
    last = getattr(sys, "last_value", None)
    if not isinstance(last, BaseException) or not _holds(last, wanted):
        return
    for name in _LAST:
        if hasattr(sys, name):
            delattr(sys, name)
    last.__traceback__ = None
    result = getattr(ip, "last_execution_result", None)
    if result is not None and result.error_in_exec is last:
        result.error_in_exec = None
    shown = getattr(ip, "InteractiveTB", None)
    for name in ("tb", "value"):
        if hasattr(shown, name):
            setattr(shown, name, None)


def _holds(error: BaseException | None, wanted: set[int]) -> bool:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        if _frames_hold(error.__traceback__, wanted):
            return True
        error = error.__cause__ or error.__context__
    return False


def _frames_hold(traceback: TracebackType | None, wanted: set[int]) -> bool:
    while traceback is not None:
        frame = traceback.tb_frame
        # The locals of a cell are the namespace, which the names have left.
        if frame.f_locals is not frame.f_globals and any(
            id(value) in wanted for value in frame.f_locals.values()
        ):
            return True
        traceback = traceback.tb_next
    return False
