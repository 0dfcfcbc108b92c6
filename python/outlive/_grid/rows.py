"""A picture as rows of bytes, one part after another."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple


class Rows(NamedTuple):
    """What a file is written of. The parts are arrays (rows, width, channels) of bytes."""

    height: int
    width: int
    channels: int
    parts: Iterator[Any]

    @classmethod
    def of_bytes(cls, array: Any) -> Rows:  # noqa: ANN401
        """Of an array (height, width, channels) that is there."""
        height, width, channels = array.shape
        return cls(height, width, channels, iter((array,)))
