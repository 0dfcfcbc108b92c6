"""How large a grid of images becomes that come one by one, and what is known of it so far."""

from __future__ import annotations

from typing import Any

from outlive._grid.arrangement import Arrangement
from outlive._grid.canvas import is_over
from outlive._grid.captions import height_below
from outlive._grid.options import Options


class Growth:
    """The size of the grid of all images so far: with each of them it is larger or the same."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._count = 0
        self._channels = 0
        self._height = 0
        self._width = 0
        self._itemsize = 0

    def add(self, image: Any) -> bool:  # noqa: ANN401
        """Looks at one more image and says whether the grid has to lie in a file.

        Raises:
            OverBudget: It is too large already, and nobody said that a file will do.
        """
        channels, height, width = image.shape
        self._count += 1
        self._channels = max(self._channels, channels)
        self._height = max(self._height, height)
        self._width = max(self._width, width)
        self._itemsize = max(self._itemsize, image.dtype.itemsize)
        if self._options.max_bytes is None:
            return False
        if self._count == 1 and not self._options.makes_cells:
            # A single image is no grid, and may be returned as it is.
            return False
        size = self._arrangement().elements * self._itemsize
        # Arrays of early NumPy do not say where they are.
        has_file = str(getattr(image, "device", "cpu")) == "cpu"
        return is_over(size, self._options, has_file=has_file, images=self._count)

    def _arrangement(self) -> Arrangement:
        options = self._options
        height, width = self._height, self._width
        if isinstance(options.cell, tuple):
            height, width = options.cell
        channels = 3 if self._channels == 1 else self._channels
        columns = min(options.nrow, self._count)
        caption = 0 if options.labels is None else height_below(height)
        return Arrangement(self._count, channels, height, width, columns, options.padding, caption)
