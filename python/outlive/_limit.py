"""A limit as a person writes it: a number of bytes, `2GiB`, or `80%` of the budget there is."""

from __future__ import annotations

import operator
import re
from typing import SupportsIndex, cast

from outlive._out_of_headroom import size_text

# Powers of 1024 with `i`, of 1000 without; single letters mean the former, as with `ls -h`.
_FACTORS: dict[str, int] = {
    "": 1,
    "b": 1,
    **{f"{letter}{end}": 1024**n for n, letter in enumerate("kmgt", 1) for end in ("", "ib")},
    **{f"{letter}b": 1000**n for n, letter in enumerate("kmgt", 1)},
}
_SIZE = re.compile(r"\s*([0-9]+)(\.[0-9]+)?\s*([a-zA-Z]*)\s*")
_SHARE = re.compile(r"\s*([0-9]+)\s*%\s*")


def limit_bytes(limit: int | str, budget: int) -> int:
    """How many bytes a limit stands for.

    Args:
        limit: Bytes, or text such as `2GiB` or `80%`.
        budget: What a share is a share of.

    Raises:
        ValueError: It is no limit; the message says what would be one.
        TypeError: It is neither a whole number nor text.
    """
    if isinstance(limit, str):
        count = _share(limit, budget)
        count = _size(limit) if count is None else count
    else:
        count = _whole_number(limit)
    if count <= 0:
        raise _objection(limit, "is not above 0")
    return count


def refuse_below(limit: int | str, count: int, use: int) -> None:
    """Raises where a limit leaves nothing: every request inside would fail.

    Args:
        limit: As it was written.
        count: The bytes it stands for.
        use: Bytes in use.

    Raises:
        ValueError: The limit is below the use.
    """
    if count < use:
        where = size_text(count)
        raise _objection(limit, f"is {where}, below the {size_text(use)} already in use")


def _share(text: str, budget: int) -> int | None:
    found = _SHARE.fullmatch(text)
    if found is None:
        return None
    share = int(found[1])
    if not 1 <= share <= 100:
        raise _objection(text, "is not from `1%` to `100%`")
    return budget * share // 100


def size_bytes(text: str) -> int | None:
    """The bytes of a size such as `2GiB` or `1.5GiB`; `None` if it is none."""
    found = _SIZE.fullmatch(text)
    factor = _FACTORS.get(found[3].lower()) if found else None
    if found is None or factor is None:
        return None
    part = float(found[2]) if found[2] else 0.0
    return int(found[1]) * factor + round(part * factor)


def _size(text: str) -> int:
    count = size_bytes(text)
    if count is None:
        raise _objection(text, "is not a limit")
    return count


def _whole_number(limit: object) -> int:
    if isinstance(limit, bool) or not hasattr(limit, "__index__"):
        raise TypeError(f"Limit must be a whole number of bytes or text, not `{limit!r}`")
    return operator.index(cast("SupportsIndex", limit))


def _objection(limit: object, what: str) -> ValueError:
    return ValueError(f"Limit `{limit}` {what}\nhint: bytes, a size such as `2GiB`, or `80%`")
