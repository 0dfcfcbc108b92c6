"""Colours as people write them."""

from __future__ import annotations

import re

_DIGITS = re.compile("#(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})")


def colour_of(colour: str | tuple[int, int, int]) -> tuple[int, int, int]:
    """Red, green and blue of `#rgb`, `#rrggbb`, or three numbers from 0 to 255.

    Raises:
        ValueError: It is no colour.
    """
    if isinstance(colour, str):
        if not _DIGITS.fullmatch(colour):
            raise ValueError(f"A colour is #rgb, #rrggbb or three numbers: {colour!r}")
        digits = colour[1:]
        width = len(digits) // 3
        parts = [digits[at : at + width] * (3 - width) for at in range(0, len(digits), width)]
        numbers = [int(part, 16) for part in parts]
    else:
        numbers = [int(part) for part in colour]
    if len(numbers) != 3 or not all(0 <= number <= 255 for number in numbers):
        raise ValueError(f"A colour is #rgb, #rrggbb or three numbers: {colour!r}")
    red, green, blue = numbers
    return red, green, blue
