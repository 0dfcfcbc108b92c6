"""The parts of a grid in PyTorch: views, copies and arithmetic by PyTorch's own kernels."""

from __future__ import annotations

from typing import Any

from outlive._grid.arrangement import Arrangement
from outlive._grid.kit import LARGEST_BLOCK, SMALLEST_BLOCK, EachByItself, Scaling
from outlive._grid.torch_range import range_of


class TorchKit:
    """PyTorch. One object draws one grid: it keeps the block in which values are scaled."""

    def __init__(self, torch: Any, canvas_bytes: int) -> None:  # noqa: ANN401
        self._torch = torch
        self._block_bytes = min(LARGEST_BLOCK, max(SMALLEST_BLOCK, canvas_bytes // 64))
        self._block: Any = None

    def paint(self, view: Any, pad: Any) -> None:  # noqa: ANN401
        """Fills a part of the canvas."""
        view.copy_(pad)

    def cells(self, canvas: Any, arrangement: Arrangement, row: int) -> Any:  # noqa: ANN401
        """The picture areas of one row of cells."""
        area = arrangement
        top = area.padding + row * area.pitch_y
        band = canvas[:, top : top + area.height, area.padding :]
        band = band.unflatten(2, (area.columns, area.pitch_x))[..., : area.width]
        return band.permute(2, 0, 1, 3)

    def gaps(self, canvas: Any, arrangement: Arrangement, row: int) -> list[Any]:  # noqa: ANN401
        """What lies left of, right of and below the picture areas of a row."""
        area = arrangement
        top = area.padding + row * area.pitch_y
        found = []
        if area.pitch_y > area.height:
            found.append(canvas[:, top + area.height : top + area.pitch_y])
        if area.padding:
            band = canvas[:, top : top + area.height]
            between = band[:, :, area.padding :].unflatten(2, (area.columns, area.pitch_x))
            found.append(band[:, :, : area.padding])
            found.append(between[..., area.width :].permute(2, 0, 1, 3))
        return found

    def put(self, cells: Any, batch: Any, scaling: Scaling | EachByItself | None) -> None:  # noqa: ANN401
        """Copies images into their cells, scaled on the way."""
        if scaling is None:
            cells.copy_(batch)
        elif isinstance(scaling, Scaling):
            self._put_scaled(cells, batch, scaling)
        else:
            for index in range(len(batch)):
                low, high = range_of(self._torch, [batch[index]], cells.dtype)
                one = slice(index, index + 1)
                self._put_scaled(cells[one], batch[one], Scaling(low, high))

    def write(self, strip: Any, coverage: bytes, pad: Any, ink: Any) -> None:  # noqa: ANN401
        """Writes a text on a strip of the canvas, by the arithmetic of `NumpyKit`."""
        torch = self._torch
        # A copy, since PyTorch warns of memory that must not be written to.
        covered = torch.frombuffer(bytearray(coverage), dtype=torch.uint8)
        covered = covered.view(strip.shape[1:]).to(strip.device)
        if strip.dtype is torch.uint8:
            share = covered.int()
            strip.copy_((pad * (255 - share) + ink * share + 127) // 255)
            return
        wide = torch.float64 if strip.dtype is torch.float64 else torch.float32
        share, pad, ink = covered.to(wide) / 255, pad.to(wide), ink.to(wide)
        ground = torch.where(pad.isfinite(), pad, ink)
        mixed = ground * (1 - share) + ink * share
        strip.copy_(torch.where(covered > 0, mixed, pad))

    def _put_scaled(self, cells: Any, batch: Any, scaling: Scaling) -> None:  # noqa: ANN401
        """Scales block by block in memory that stays in the cache; the canvas is written once."""
        if cells.device.type != "cpu":
            # A GPU waits longer for many small steps than for memory.
            scale(cells.copy_(batch), scaling)
            return
        count, channels, height, width = batch.shape
        row = channels * width * cells.element_size()
        images = max(1, self._block_bytes // (row * height))
        rows = max(1, min(height, self._block_bytes // row))
        for first in range(0, count, images):
            for top in range(0, height, rows):
                part = batch[first : first + images, :, top : top + rows]
                target = cells[first : first + images, :, top : top + rows]
                self._put_block(target, part, scaling)

    def _put_block(self, target: Any, part: Any, scaling: Scaling) -> None:  # noqa: ANN401
        block = self._block_like(part, target)
        if part.dtype != target.dtype or type(scaling.low) not in (int, float):
            scale(block.copy_(part), scaling)
            target.copy_(block)
            return
        # The steps of `scale`; the first and the last of them copy as well.
        self._torch.clamp(part, min=scaling.low, max=scaling.high, out=block).sub_(scaling.low)
        if target.shape == block.shape:
            self._torch.div(block, scaling.span, out=target)
        else:
            target.copy_(block.div_(scaling.span))

    def _block_like(self, part: Any, target: Any) -> Any:  # noqa: ANN401
        if self._block is None or self._block.numel() < part.numel():
            self._block = target.new_empty(part.numel())
        return self._block[: part.numel()].view(part.shape)


def scale(values: Any, scaling: Scaling) -> None:  # noqa: ANN401
    """Brings values to the range from 0 to 1, where they are.

    The order of the three steps and a true division decide the last bits of the result.
    """
    values.clamp_(min=scaling.low, max=scaling.high)
    values.sub_(scaling.low).div_(scaling.span)
