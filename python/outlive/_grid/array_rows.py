"""The bytes of a grid that is a NumPy array."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

from outlive._grid.kit import LARGEST_BLOCK
from outlive._grid.rows import Rows


def rows_of(grid: Any) -> Rows:  # noqa: ANN401
    """Rows of an array (channels, height, width).

    Raises:
        TypeError: It has whole numbers other than bytes.
    """
    numpy = import_module("numpy")
    if grid.dtype == numpy.uint8:
        return Rows.of_bytes(grid.transpose(1, 2, 0))
    if not numpy.issubdtype(grid.dtype, numpy.floating):
        raise TypeError(f"Images are saved of bytes or floating-point numbers, not {grid.dtype}")
    channels, height, width = grid.shape
    return Rows(height, width, channels, _parts(numpy, grid))


def _parts(numpy: Any, grid: Any) -> Iterator[Any]:  # noqa: ANN401
    step = max(1, LARGEST_BLOCK // max(1, grid[:, :1].nbytes))
    for top in range(0, grid.shape[1], step):
        yield bytes_of(numpy, grid[:, top : top + step]).transpose(1, 2, 0)


def bytes_of(numpy: Any, values: Any) -> Any:  # noqa: ANN401
    """Values from 0 to 1 as bytes, rounded to the nearest; what is no number is 0."""
    kind = values.dtype.type
    with numpy.errstate(all="ignore"):
        found = values * kind(255)
        found += kind(0.5)
        found = numpy.clip(found, kind(0), kind(255), out=found)
        return numpy.nan_to_num(found, copy=False).astype(numpy.uint8)
