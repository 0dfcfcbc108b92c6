"""What the assembly of a grid asks of a library that has arrays."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from outlive._grid.arrangement import Arrangement

# Work on so many bytes at a time stays in a cache, and is worth the start of a library's threads.
SMALLEST_BLOCK = 1 << 18
LARGEST_BLOCK = 1 << 20
# The least divisor of a normalised image, so that one of a single colour is no division by zero.
LEAST_SPAN = 1e-5


class Scaling(NamedTuple):
    """How values are brought to the range from 0 to 1."""

    low: Any
    high: Any

    @property
    def span(self) -> Any:  # noqa: ANN401
        """What a value is divided by once `low` is taken from it."""
        return max(self.high - self.low, LEAST_SPAN)


class EachByItself:
    """Every image is scaled by its own smallest and largest value."""


class AllTogether:
    """All images are scaled by the smallest and the largest value among them."""


class Kit(Protocol):
    """One library. Batches have the shape (n, channels, height, width)."""

    def paint(self, view: Any, pad: Any) -> None:  # noqa: ANN401
        """Fills a part of the canvas that ends in (channels, height, width)."""

    def cells(self, canvas: Any, arrangement: Arrangement, row: int) -> Any:  # noqa: ANN401
        """The picture areas of one row of cells as a view (columns, channels, height, width)."""

    def gaps(self, canvas: Any, arrangement: Arrangement, row: int) -> list[Any]:  # noqa: ANN401
        """Views of all that is no picture area in that row, captions included."""

    def put(self, cells: Any, batch: Any, scaling: Scaling | EachByItself | None) -> None:  # noqa: ANN401
        """Copies images into as many cells; one channel becomes as many as the cells have."""

    def write(self, strip: Any, coverage: bytes, pad: Any, ink: Any) -> None:  # noqa: ANN401
        """Writes a text on a strip (channels, height, width) that is painted with `pad`.

        Args:
            strip: A part of the canvas.
            coverage: How much of each pixel the letters cover, in 255ths.
            pad: The value between letters.
            ink: The value of letters.
        """
