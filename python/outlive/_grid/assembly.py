"""Draws a grid: each image goes straight into its place, and only what lies between is painted.

A row of cells is finished before the next one is begun, so that what was just written is still in
the cache when its gaps are painted, and so that a row can be drawn alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from outlive._grid.arrangement import Arrangement
from outlive._grid.captions import Captions
from outlive._grid.kit import EachByItself, Kit, Scaling


class Assembly:
    """A canvas that is being drawn."""

    def __init__(
        self,
        kit: Kit,
        arrangement: Arrangement,
        canvas: Any,  # noqa: ANN401
        pad: Any,  # noqa: ANN401
        scaling: Scaling | EachByItself | None,
        captions: Captions | None = None,
    ) -> None:
        self._kit = kit
        self._arrangement = arrangement
        self._canvas = canvas
        self._pad = pad
        self._scaling = scaling
        self._captions = captions
        self._drawn = 0
        # The row that is being drawn: a list of images comes back to it for each of them.
        self._row = -1
        self._cells: Any = None

    def draw(self, batches: Iterable[Any]) -> Any:  # noqa: ANN401
        """Draws all images and returns the canvas.

        Args:
            batches: Arrays (n, channels, height, width), together as many images as cells. Each is
                let go before the next one is asked for.
        """
        if self._arrangement.padding:
            self._kit.paint(self._canvas[:, : self._arrangement.padding], self._pad)
        for batch in batches:
            self._draw_batch(batch)
            del batch
        return self._canvas

    def _draw_batch(self, batch: Any) -> None:  # noqa: ANN401
        done = 0
        while done < len(batch):
            row, column = divmod(self._drawn, self._arrangement.columns)
            run = min(len(batch) - done, self._arrangement.columns - column)
            if row != self._row:
                self._row, self._cells = row, self._kit.cells(self._canvas, self._arrangement, row)
            cells = self._cells
            images = batch[done : done + run]
            self._kit.put(self._fitted(cells[column : column + run], images), images, self._scaling)
            done += run
            self._drawn += run
            if column + run == self._arrangement.columns or self._drawn == self._arrangement.cells:
                self._finish_row(row, cells[column + run :])

    def _fitted(self, cells: Any, images: Any) -> Any:  # noqa: ANN401
        """The middle of cells that are larger than their images; the rest of them is painted."""
        _, _, height, width = images.shape
        spare_y = self._arrangement.height - height
        spare_x = self._arrangement.width - width
        if not spare_y and not spare_x:
            return cells
        self._kit.paint(cells, self._pad)
        top, left = spare_y // 2, spare_x // 2
        return cells[:, :, top : top + height, left : left + width]

    def _finish_row(self, row: int, empty: Any) -> None:  # noqa: ANN401
        if len(empty):
            self._kit.paint(empty, self._pad)
        for gap in self._kit.gaps(self._canvas, self._arrangement, row):
            self._kit.paint(gap, self._pad)
        if self._captions is not None:
            write_captions(
                self._kit, self._canvas, self._arrangement, row, self._pad, self._captions
            )


def write_captions(
    kit: Kit,
    canvas: Any,  # noqa: ANN401
    area: Arrangement,
    row: int,
    pad: Any,  # noqa: ANN401
    captions: Captions,
) -> None:
    """Writes what stands below the cells of a row, on strips that are painted."""
    top = area.padding + row * area.pitch_y + area.height
    first = row * area.columns
    for cell in range(first, min(first + area.columns, area.cells)):
        coverage = captions.coverage(cell, area.width, area.caption)
        if coverage is not None:
            left = area.padding + (cell - first) * area.pitch_x
            strip = canvas[:, top : top + area.caption, left : left + area.width]
            kit.write(strip, coverage, pad, captions.ink)
