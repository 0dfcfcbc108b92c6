"""The variables of a notebook: those the user made, then what only IPython still holds."""

from __future__ import annotations

import contextlib
import gc
import re
import sys
from collections.abc import Iterator
from types import TracebackType
from typing import Any

from outlive import _hook
from outlive.notebook.shell import Shell
from outlive.notebook.variables import Survey, survey

_HISTORY = re.compile(r"_+|_[0-9]+|_i+|_i[0-9]+|_ih|_oh|_dh|In|Out|__")


def user_variables(ip: Shell) -> list[tuple[str, Any]]:
    """What the user named."""
    hidden = ip.user_ns_hidden
    return [
        (name, value)
        for name, value in list(ip.user_ns.items())
        if isinstance(name, str)
        and not _HISTORY.fullmatch(name)
        and not (name in hidden and hidden[name] is value)
    ]


def outputs(ip: Shell) -> list[tuple[str, Any]]:
    """Results of cells that IPython keeps."""
    kept = ip.user_ns.get("_oh")
    return [(f"Out[{number}]", value) for number, value in list(dict.items(kept or {}))]


def frame_variables(traceback: TracebackType | None) -> list[tuple[str, Any]]:
    """Local variables of the functions that an error came through."""
    found: list[tuple[str, Any]] = []
    while traceback is not None:
        frame = traceback.tb_frame
        # Of a cell itself the variables are the namespace's.
        if frame.f_locals is not frame.f_globals and not _is_ours(frame.f_code.co_filename):
            where = f"in {frame.f_code.co_name}()"
            found += [(f"{name} {where}", value) for name, value in list(frame.f_locals.items())]
        traceback = traceback.tb_next
    return found


def surveyed(ip: Shell, traceback: TracebackType | None = None) -> Survey:
    """Who holds memory, by name.

    Args:
        ip: The shell.
        traceback: Of an error that is being shown; what its frames hold is named too.
    """
    # A collection would take longer than all of this.
    with _no_collection():
        return _surveyed(ip, traceback)


def _surveyed(ip: Shell, traceback: TracebackType | None) -> Survey:
    place_of = _hook.functions().get("place_of", _nowhere)
    groups = [user_variables(ip), outputs(ip), frame_variables(traceback)]
    unseen = (ip, ip.user_ns, ip.user_ns_hidden, ip.user_module, sys.modules)
    return survey(groups, unseen, place_of)


def _nowhere(_: int) -> None:
    """Where a block was allocated that nobody recorded."""


def _is_ours(file: str) -> bool:
    return "/IPython/" in file or "/ipykernel/" in file or "/outlive/" in file


@contextlib.contextmanager
def _no_collection() -> Iterator[None]:
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
