"""A grid on a GPU: every step is done for all cells together, on the canvas itself.

Each step there is a kernel, and starting one takes longer than the work on an image. So images are
copied first, and the canvas is then looked at and scaled through a view of all cells.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from outlive._grid.arrangement import Arrangement
from outlive._grid.kit import AllTogether, EachByItself, Scaling
from outlive._grid.torch_kit import scale
from outlive._grid.torch_range import is_negative_zero, range_of

# Of a view (rows, columns, channels, height, width), the axes of one image.
IMAGE = (2, 3, 4)


def draw(
    torch: Any,  # noqa: ANN401
    canvas: Any,  # noqa: ANN401
    area: Arrangement,
    batches: Sequence[Any],
    pad: Any,  # noqa: ANN401
    scaling: Scaling | EachByItself | AllTogether | None,
) -> None:
    """Draws all images on the canvas, and paints what lies between.

    Args:
        torch: The library.
        canvas: Memory for the grid.
        area: Where cells lie on it.
        batches: One array (n, channels, height, width), or one such array for each image.
        pad: The colour between images.
        scaling: How values are scaled.
    """
    canvas.copy_(pad)
    blocks = _blocks(canvas, area)
    _copy(torch, blocks, batches)
    if isinstance(scaling, EachByItself):
        _scale_each(torch, blocks, batches)
        return
    if isinstance(scaling, AllTogether):
        scaling = _common(torch, blocks, batches)
    if scaling is not None:
        for block in blocks:
            scale(block, scaling)


def _blocks(canvas: Any, area: Arrangement) -> list[Any]:  # noqa: ANN401
    """All cells as views (rows, columns, channels, height, width): full rows, and a short last."""
    inner = canvas[:, area.padding :, area.padding :]
    inner = inner.unflatten(1, (area.rows, area.pitch_y)).unflatten(3, (area.columns, area.pitch_x))
    cells = inner[:, :, : area.height, :, : area.width].permute(1, 3, 0, 2, 4)
    full, rest = divmod(area.cells, area.columns)
    blocks = [cells[:full]] if full else []
    return [*blocks, cells[full:, :rest]] if rest else blocks


def _copy(torch: Any, blocks: Sequence[Any], batches: Sequence[Any]) -> None:  # noqa: ANN401
    done = 0
    for block in blocks:
        rows, columns = block.shape[:2]
        if len(batches) == 1:
            part = batches[0][done : done + rows * columns]
            block.copy_(part.unflatten(0, (rows, columns)))
        else:
            shape = (1, *block.shape[2:])
            for number, row in enumerate(block.unbind()):
                first = done + number * columns
                # One channel becomes as many as the cells have.
                images = [image.expand(shape) for image in batches[first : first + columns]]
                torch.cat(images, out=row)
        done += rows * columns


def _common(torch: Any, blocks: Sequence[Any], batches: Sequence[Any]) -> Scaling:  # noqa: ANN401
    [(low, high)] = _ranges(torch, blocks, None)
    if low == 0.0 and any(is_negative_zero(torch, block).any() for block in blocks):
        return Scaling(*range_of(torch, batches, blocks[0].dtype))
    return Scaling(low, high)


def _scale_each(torch: Any, blocks: Sequence[Any], batches: Sequence[Any]) -> None:  # noqa: ANN401
    cells = [cell for block in blocks for row in block.unbind() for cell in row.unbind()]
    images = _images(batches)
    for cell, image, (low, high) in zip(cells, images, _ranges(torch, blocks, IMAGE)):
        if low == 0.0 and is_negative_zero(torch, cell).any():
            low, high = range_of(torch, [image], cell.dtype)
        scale(cell, Scaling(low, high))


def _images(batches: Sequence[Any]) -> Iterator[Any]:
    for batch in batches:
        yield from batch.unbind()


def _ranges(torch: Any, blocks: Sequence[Any], axes: Any) -> list[tuple[float, float]]:  # noqa: ANN401
    """The smallest and largest values, of each image or of all; a GPU is waited for once."""
    lows = _joined(torch, [_bound(block, "amin", axes) for block in blocks])
    highs = _joined(torch, [_bound(block, "amax", axes) for block in blocks])
    if axes is None:
        lows, highs = lows.amin().view(1), highs.amax().view(1)
    both = _joined(torch, [lows, highs]).view(2, -1)
    return list(zip(*both.tolist()))


def _bound(block: Any, name: str, axes: Any) -> Any:  # noqa: ANN401
    return getattr(block, name)(() if axes is None else axes).view(-1)


def _joined(torch: Any, parts: Sequence[Any]) -> Any:  # noqa: ANN401
    """Parts one after the other. `torch.autocast` changes or refuses what has no `out`."""
    return torch.cat(list(parts), out=parts[0].new_empty(sum(map(len, parts))))
