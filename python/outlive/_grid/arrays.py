"""A grid of NumPy arrays. PyTorch is not needed for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from outlive._grid.arrangement import arranged
from outlive._grid.assembly import Assembly
from outlive._grid.canvas import numpy_canvas
from outlive._grid.captions import Captions, ink_of, no_labels_on, texts_of
from outlive._grid.kit import EachByItself, Scaling
from outlive._grid.numpy_kit import NumpyKit, range_of
from outlive._grid.options import Options


def single(numpy: Any, image: Any, options: Options) -> Any:  # noqa: ANN401
    """One image alone: itself, with three channels instead of one, scaled if that was asked for."""
    if image.shape[0] != 1 and options.normalize is not True:
        return image
    scaling = _scaling(numpy, [image[None]], image.dtype, options)
    colours = 3 if image.shape[0] == 1 else image.shape[0]
    canvas = numpy_canvas(numpy, image.dtype, (colours, *image.shape[1:]), options)
    NumpyKit(numpy, canvas.nbytes).put(canvas[None], image[None], scaling)
    return canvas


class Sheet:
    """All that is known of a grid of arrays before it is drawn."""

    def __init__(self, numpy: Any, batches: Sequence[Any], options: Options) -> None:  # noqa: ANN401
        self._numpy = numpy
        self._dtype = numpy.result_type(*{batch.dtype for batch in batches})
        self.scaling = _scaling(numpy, batches, self._dtype, options)
        self.arrangement = arranged(batches, options)
        self.pad = self._pad(options)
        self.captions = None if options.labels is None else self._captions(options)
        self._options = options

    def draw(self, batches: Iterable[Any]) -> Any:  # noqa: ANN401
        """Draws the whole grid."""
        canvas = numpy_canvas(self._numpy, self._dtype, self.arrangement.shape, self._options)
        kit = NumpyKit(self._numpy, canvas.nbytes)
        assembly = Assembly(kit, self.arrangement, canvas, self.pad, self.scaling, self.captions)
        return assembly.draw(batches)

    def _pad(self, options: Options) -> Any:  # noqa: ANN401
        colour = options.colour(self.arrangement.channels)
        pad = self._numpy.array(colour, dtype=object).astype(self._dtype)
        return pad.reshape(len(colour), 1, 1)

    def _captions(self, options: Options) -> Captions:
        is_bytes = self._dtype == self._numpy.uint8
        if not is_bytes and not self._numpy.issubdtype(self._dtype, self._numpy.floating):
            raise no_labels_on(self._dtype)
        channels = self.arrangement.channels
        ink = ink_of(options.colour(channels), channels, 255 if is_bytes else 1)
        values = self._numpy.array(ink, self._dtype).reshape(channels, 1, 1)
        return Captions(texts_of(options.labels, self.arrangement.cells), values)


def _scaling(
    numpy: Any,  # noqa: ANN401
    batches: Sequence[Any],
    dtype: Any,  # noqa: ANN401
    options: Options,
) -> Scaling | EachByItself | None:
    if options.normalize is not True:
        return None
    if options.value_range is not None and not isinstance(options.value_range, tuple):
        raise TypeError("value_range has to be a tuple (low, high) of two numbers")
    if not numpy.issubdtype(dtype, numpy.floating):
        raise TypeError(f"Only images of floating-point numbers can be normalized, not {dtype}")
    if options.value_range is not None:
        return Scaling(options.value_range[0], options.value_range[1])
    if options.scale_each is True:
        return EachByItself()
    return Scaling(*range_of(numpy, batches))
