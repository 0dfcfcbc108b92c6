"""Whether an error is the guard's answer, and what that said: figures, lines, the place.

An error about memory that the guard did not cause gets none: it has no figures to show.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from opcode import opmap
from typing import Any, NamedTuple

from outlive import _hook
from outlive._memory_error import is_out_of_memory
from outlive._out_of_headroom import _UNITS, OutOfHeadroom, explanation

_SIZE = rf"([0-9.]+) ({'|'.join(_UNITS)})"
# The first line that `explanation` makes.
_ANSWER = re.compile(
    rf"(?:Asked for {_SIZE}|Growth was stopped) with (?:{_SIZE} of|little) headroom left"
    rf"(?: of a budget of {_SIZE})?(?: \(([^\n]*)\))?"
)
# Chains are short; one that is not was made to be long.
_LONGEST_CHAIN = 50
# A message of a worker carries its traceback.
_LONGEST_MESSAGE = 64 << 10


class Refusal(NamedTuple):
    """What the guard answered.

    Attributes:
        requested: Bytes asked for; `None` where growth was stopped.
        headroom: Bytes that were left.
        budget: Bytes that may be used.
        source: What sets the budget.
        holders: Bytes and places of the lines that held most then.
        error: The error that carried it.
        elsewhere: It happened in another process, whose variables are not here.
    """

    requested: int | None
    headroom: int | None
    budget: int | None
    source: str | None
    holders: tuple[tuple[int, str], ...]
    error: BaseException
    elsewhere: bool = False


def of_error(error: BaseException) -> Refusal | None:
    """What the guard answered, if an error or one it came from is its doing."""
    for one in _chain(error):
        found = _stop(one) or _noted(one) or _told(one)
        if found is not None:
            return found
    return None


def _chain(error: BaseException) -> Iterator[BaseException]:
    pending = [error]
    seen: set[int] = set()
    while pending and len(seen) < _LONGEST_CHAIN:
        current = pending.pop(0)
        if not isinstance(current, BaseException) or id(current) in seen:
            continue
        seen.add(id(current))
        yield current
        hidden = current.__suppress_context__ and current.__cause__ is None
        pending += [] if hidden else [current.__cause__ or current.__context__]  # type: ignore[list-item]
        inner = getattr(current, "exceptions", ())
        pending += inner if type(inner) is tuple else ()


def _stop(error: BaseException) -> Refusal | None:
    kinds = (OutOfHeadroom, _hook.functions().get("OutOfHeadroom", OutOfHeadroom))
    if not isinstance(error, kinds) or error.args:  # type: ignore[arg-type]
        return None
    facts: Any = error
    return Refusal(
        facts.requested, facts.headroom, facts.budget, facts.source, tuple(facts.holders), error
    )


def _noted(error: BaseException) -> Refusal | None:
    notes = getattr(error, "__notes__", None)
    if type(notes) is not list or _raised_by_hand(error):
        return None
    for note in reversed(notes):
        found = _ANSWER.match(note) if type(note) is str else None
        if found is not None:
            return _exact(note, error) or _read(found, error)
    return None


def _raised_by_hand(error: BaseException) -> bool:
    """Whether a `MemoryError` is of a `raise` statement, which no refusal is.

    The hook's note comes a moment late, and the error it meets may be the program's own.
    """
    traceback = error.__traceback__
    if type(error) is not MemoryError or traceback is None:
        return False
    while traceback.tb_next is not None:
        traceback = traceback.tb_next
    code = traceback.tb_frame.f_code.co_code
    return code[traceback.tb_lasti : traceback.tb_lasti + 1] == bytes([opmap["RAISE_VARARGS"]])


def _told(error: BaseException) -> Refusal | None:
    """Of an error that a worker sent, whose text is all there is."""
    try:
        if not is_out_of_memory(error):
            return None
        text = str(error)[:_LONGEST_MESSAGE]
    except Exception:
        return None
    found = _ANSWER.search(text)
    if found is not None:
        return _read(found, error)._replace(elsewhere=True)
    return _named_in(text, error)


def _named_in(text: str, error: BaseException) -> Refusal | None:
    """The last refusal, where the message of a framework has its very number of bytes."""
    last = _last()
    requested = last.get("requested")
    if not requested or requested < 1024 or re.search(rf"\b{requested}\b", text) is None:
        return None
    return Refusal(**last, holders=_lines(), error=error)


def _exact(note: str, error: BaseException) -> Refusal | None:
    """The figures of the last refusal to the byte, if the note is about that."""
    last = _last()
    if not last or explanation(**last).partition("\n")[0] != note.partition("\n")[0]:
        return None
    return Refusal(**last, holders=_lines(), error=error)


def _read(found: re.Match[str], error: BaseException) -> Refusal:
    asked, left, whole = (_bytes(found[n], found[n + 1]) for n in (1, 3, 5))
    return Refusal(asked, left, whole, found[7], (), error)


def _bytes(number: str | None, unit: str | None) -> int | None:
    if number is None or unit is None:
        return None
    return int(float(number) * 1024 ** _UNITS.index(unit))


def _last() -> dict[str, Any]:
    ask = _hook.functions().get("last_refusal")
    return (ask() if ask is not None else None) or {}


def _lines() -> tuple[tuple[int, str], ...]:
    ask = _hook.functions().get("holders")
    return tuple(ask(20)) if ask is not None else ()
