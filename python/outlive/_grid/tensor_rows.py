"""The bytes of a grid of tensors: one row of cells at a time, never the whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from outlive._grid import any_images, step_by_step, tensors
from outlive._grid.assembly import Assembly
from outlive._grid.kit import LARGEST_BLOCK
from outlive._grid.options import Options
from outlive._grid.rows import Rows
from outlive._grid.torch_kit import TorchKit


def rows_of(torch: Any, images: Any, options: Options) -> Rows:  # noqa: ANN401
    """Rows of the grid of a tensor or a list of tensors, with torchvision's errors."""
    batches = tensors.usual_batches(torch, images, options)
    if batches is None and options.labels is not None:
        return rows_of_grid(torch, any_images.make(images, options))
    if batches is None:
        return rows_of_single(torch, step_by_step.make(torch, images, options))
    sheet = tensors.Sheet(torch, batches, options)
    if not _is_saved_by_parts(torch, sheet.like.dtype, sheet.arrangement.channels):
        # torchvision refuses bytes, but it has no labels.
        rows = rows_of_single if options.labels is None else rows_of_grid
        return rows(torch, sheet.draw(batches))
    channels, height, width = sheet.arrangement.shape
    return Rows(height, width, channels, _bands(torch, sheet, batches))


def rows_of_grid(torch: Any, grid: Any) -> Rows:  # noqa: ANN401
    """Rows of a grid that is there already; bytes are taken as they are."""
    if grid.dtype is torch.uint8:
        return Rows.of_bytes(grid.permute(1, 2, 0).cpu().numpy())
    return rows_of_single(torch, grid)


def rows_of_single(torch: Any, image: Any) -> Rows:  # noqa: ANN401
    """Rows of one tensor (channels, height, width)."""
    usual = image.dim() == 3 and image.numel() and image.layout is torch.strided
    if not usual or not _is_saved_by_parts(torch, image.dtype, image.size(0)):
        # At once, with the errors of its steps.
        return Rows.of_bytes(_bytes_of(torch, image.mul(255)).numpy())
    channels, height, width = image.shape
    return Rows(height, width, channels, _parts(torch, image))


def _is_saved_by_parts(torch: Any, dtype: Any, channels: int) -> bool:  # noqa: ANN401
    floating = {torch.float16, torch.bfloat16, torch.float32, torch.float64}
    return dtype in floating and 2 <= channels <= 4


def _bands(torch: Any, sheet: Any, batches: Sequence[Any]) -> Iterator[Any]:  # noqa: ANN401
    """Draws one row of cells after another on the same small canvas."""
    whole = sheet.arrangement
    canvas: Any = None
    for row in range(whole.rows):
        first, last = row * whole.columns, min(whole.cells, (row + 1) * whole.columns)
        band = whole._replace(cells=last - first)
        if canvas is None:
            canvas = sheet.like.new_empty(band.shape)
        images = batches[first:last] if len(batches) > 1 else [batches[0][first:last]]
        kit = TorchKit(torch, canvas.nbytes)
        captions = None if sheet.captions is None else sheet.captions.of_cells(first, last)
        Assembly(kit, band, canvas, sheet.pad, sheet.scaling, captions).draw(images)
        # The padding above all cells is that of the first row; the others have it from the last.
        top = whole.padding if row else 0
        yield from _parts(torch, canvas[:, top:])


def _parts(torch: Any, image: Any) -> Iterator[Any]:  # noqa: ANN401
    step = max(1, LARGEST_BLOCK // max(1, image[:, :1].nbytes))
    for top in range(0, image.size(1), step):
        yield _bytes_of(torch, image[:, top : top + step].mul(255)).numpy()


def _bytes_of(torch: Any, multiplied: Any) -> Any:  # noqa: ANN401
    """Values from 0 to 255 as bytes (height, width, channels) in the host's memory, rounded."""
    return multiplied.add_(0.5).clamp_(0, 255).permute(1, 2, 0).to("cpu", torch.uint8)
