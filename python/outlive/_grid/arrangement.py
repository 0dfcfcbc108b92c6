"""Where the cells of a grid lie. Plain arithmetic on whole numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from outlive._grid.captions import height_below
from outlive._grid.options import Options


class Arrangement(NamedTuple):
    """Positions of cells on a canvas of channels, rows and columns of pixels."""

    cells: int
    channels: int
    height: int
    width: int
    columns: int
    padding: int
    caption: int = 0

    @property
    def rows(self) -> int:
        """Rows of cells; the last may be short."""
        return -(-self.cells // self.columns)

    @property
    def pitch_y(self) -> int:
        """From a cell to the next one below."""
        return self.height + self.caption + self.padding

    @property
    def pitch_x(self) -> int:
        """From a cell to the next one on its right."""
        return self.width + self.padding

    @property
    def shape(self) -> tuple[int, int, int]:
        """Of the whole canvas."""
        return (
            self.channels,
            self.pitch_y * self.rows + self.padding,
            self.pitch_x * self.columns + self.padding,
        )

    @property
    def elements(self) -> int:
        """Of the whole canvas."""
        channels, height, width = self.shape
        return channels * height * width


def arranged(batches: Sequence[Any], options: Options) -> Arrangement:
    """Where images lie that come in arrays (n, channels, height, width).

    Raises:
        ValueError: They do not fit into cells of one size.
    """
    count = sum(len(batch) for batch in batches)
    sizes = {tuple(batch.shape[2:]) for batch in batches}
    height, width = _cell(sizes, options.cell)
    channels = {batch.shape[1] for batch in batches}
    # One channel goes into as many as the others have, but brightness is no transparency.
    if len(channels - {1}) > 1 or (1 in channels and channels & {2, 4}):
        raise ValueError(
            f"Images have different numbers of channels: {sorted(channels)}"
            '\nhint: make them alike; of Pillow images with `image.convert("RGB")`'
        )
    colours = max(channels)
    columns = max(1, min(options.nrow, count))
    caption = 0 if options.labels is None else height_below(height)
    channels_drawn = 3 if colours == 1 else colours
    return Arrangement(count, channels_drawn, height, width, columns, options.padding, caption)


def _cell(sizes: set[tuple[int, ...]], cell: Any) -> tuple[int, int]:  # noqa: ANN401
    if cell is None:
        if len(sizes) > 1:
            raise ValueError(
                f"Images have different sizes: {sorted(sizes)[:4]}\n"
                'hint: cell="largest" puts each into the middle of a cell of its own'
            )
        [(height, width)] = sizes
        return height, width
    if cell == "largest":
        return max(size[0] for size in sizes), max(size[1] for size in sizes)
    height, width = cell
    if any(size[0] > height or size[1] > width for size in sizes):
        raise ValueError(f"An image is larger than its cell of {height} x {width} pixels")
    return height, width
