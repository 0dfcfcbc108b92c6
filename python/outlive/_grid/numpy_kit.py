"""The parts of a grid in NumPy, by the rules of arithmetic that PyTorch has."""

from __future__ import annotations

from typing import Any

from outlive._grid.arrangement import Arrangement
from outlive._grid.kit import LARGEST_BLOCK, SMALLEST_BLOCK, EachByItself, Scaling


class NumpyKit:
    """NumPy."""

    def __init__(self, numpy: Any, canvas_bytes: int) -> None:  # noqa: ANN401
        self._numpy = numpy
        self._block_bytes = min(LARGEST_BLOCK, max(SMALLEST_BLOCK, canvas_bytes // 64))

    def paint(self, view: Any, pad: Any) -> None:  # noqa: ANN401
        """Fills a part of the canvas."""
        view[...] = pad

    def cells(self, canvas: Any, arrangement: Arrangement, row: int) -> Any:  # noqa: ANN401
        """The picture areas of one row of cells."""
        area = arrangement
        shape = (area.columns, area.channels, area.height, area.width)
        return self._repeated(canvas, area, row, area.padding, shape)

    def gaps(self, canvas: Any, arrangement: Arrangement, row: int) -> list[Any]:  # noqa: ANN401
        """What lies left of, right of and below the picture areas of a row."""
        area = arrangement
        top = area.padding + row * area.pitch_y
        found = []
        if area.pitch_y > area.height:
            found.append(canvas[:, top + area.height : top + area.pitch_y])
        if area.padding:
            shape = (area.columns, area.channels, area.height, area.padding)
            found.append(canvas[:, top : top + area.height, : area.padding])
            found.append(self._repeated(canvas, area, row, area.padding + area.width, shape))
        return found

    def _repeated(
        self,
        canvas: Any,  # noqa: ANN401
        area: Arrangement,
        row: int,
        left: int,
        shape: tuple[int, int, int, int],
    ) -> Any:  # noqa: ANN401
        """A view of the same part of each column of cells."""
        start = canvas[:, area.padding + row * area.pitch_y :, left:]
        step = area.pitch_x * canvas.strides[2]
        as_strided = self._numpy.lib.stride_tricks.as_strided
        return as_strided(start, shape, (step, *canvas.strides))

    def put(self, cells: Any, batch: Any, scaling: Scaling | EachByItself | None) -> None:  # noqa: ANN401
        """Copies images into their cells, scaled on the way."""
        if scaling is None:
            cells[...] = batch
            return
        for index in range(len(batch)):
            image = batch[index]
            known = scaling
            if not isinstance(known, Scaling):
                known = Scaling(*range_of(self._numpy, [image]))
            row = image.shape[0] * image.shape[2] * cells.itemsize
            rows = max(1, self._block_bytes // row)
            for top in range(0, image.shape[1], rows):
                part = image[:, top : top + rows].astype(cells.dtype, copy=False)
                cells[index, :, top : top + rows] = scaled(self._numpy, part, known)

    def write(self, strip: Any, coverage: bytes, pad: Any, ink: Any) -> None:  # noqa: ANN401
        """Writes a text on a strip of the canvas."""
        numpy = self._numpy
        covered = numpy.frombuffer(coverage, numpy.uint8).reshape(strip.shape[1:])
        if strip.dtype == numpy.uint8:
            share = covered.astype(numpy.int32)
            strip[...] = (pad * (255 - share) + ink * share + 127) // 255
            return
        wide = numpy.result_type(strip.dtype, numpy.float32)
        share = covered.astype(wide) / 255
        # Nothing can be mixed with a padding that is no number.
        ground = numpy.where(numpy.isfinite(pad), pad, ink).astype(wide)
        mixed = ground * (1 - share) + ink.astype(wide) * share
        strip[...] = numpy.where(covered > 0, mixed, pad)


def range_of(numpy: Any, images: Any) -> tuple[float, float]:  # noqa: ANN401
    """The smallest and the largest value; no number if there is any that is none."""
    lows = numpy.array([numpy.min(image) for image in images])
    highs = numpy.array([numpy.max(image) for image in images])
    return float(numpy.min(lows)), float(numpy.max(highs))


def scaled(numpy: Any, values: Any, scaling: Scaling) -> Any:  # noqa: ANN401
    """A copy of a block of values, brought to the range from 0 to 1.

    As in PyTorch, every step rounds to the dtype, and so do the bounds; what is divided by does
    not, and steps in a dtype of 16 bits are calculated in 32 bits.
    """
    kind = values.dtype.type
    wide = numpy.float32 if values.dtype.itemsize == 2 else kind
    with numpy.errstate(all="ignore"):
        low, high = kind(scaling.low), kind(scaling.high)
        if low != low or high != high:
            return numpy.full_like(values, numpy.nan)
        found = numpy.minimum(numpy.maximum(values, low), high)
        found = (found.astype(wide, copy=False) - wide(low)).astype(kind, copy=False)
        return (found.astype(wide, copy=False) / wide(scaling.span)).astype(kind, copy=False)
