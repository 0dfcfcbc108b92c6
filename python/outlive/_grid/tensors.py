"""A grid of PyTorch tensors: bit for bit what torchvision makes, with no memory but its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from outlive._grid import at_once, step_by_step
from outlive._grid.arrangement import arranged
from outlive._grid.assembly import Assembly, write_captions
from outlive._grid.canvas import torch_canvas
from outlive._grid.captions import Captions, ink_of, no_labels_on, texts_of
from outlive._grid.kit import AllTogether, EachByItself, Scaling
from outlive._grid.options import Options
from outlive._grid.torch_kit import TorchKit, scale
from outlive._grid.torch_range import range_of


def make(torch: Any, images: Any, options: Options) -> Any:  # noqa: ANN401
    """The grid of a tensor or a list of tensors.

    Args:
        torch: The library.
        images: What torchvision takes.
        options: All arguments.
    """
    with torch.no_grad():
        batches = usual_batches(torch, images, options)
        if batches is None:
            return step_by_step.make(torch, images, options)
        drawn_at_once = _is_drawn_at_once(torch, batches)
        sheet = SheetAtOnce if drawn_at_once else Sheet
        return sheet(torch, batches, options).draw(batches)


def usual_batches(torch: Any, images: Any, options: Options) -> list[Any] | None:  # noqa: ANN401
    """Two images or more that can be drawn in place; `None` if anything about them is unusual."""
    batches = _batches(torch, images)
    usual = batches is not None and options.has_usual_geometry()
    return batches if usual and _can_scale(torch, batches or [], options) else None


class Sheet:
    """All that is known of a grid of usual tensors before it is drawn."""

    def __init__(self, torch: Any, batches: Sequence[Any], options: Options) -> None:  # noqa: ANN401
        self._torch = torch
        self.like = _prototype(torch, batches)
        if options.normalize is True and not _can_scale(torch, batches, options):
            raise TypeError("Images of floating-point numbers are needed, and a tuple (low, high)")
        self.arrangement = arranged(batches, options)
        if options.normalize is True and options.value_range is not None:
            # A bound that the dtype cannot hold is refused before the padding is looked at.
            scale(self.like.new_zeros((1,)), Scaling(*options.value_range[:2]))
        self.pad = self._pad(options)
        self.captions = None if options.labels is None else self._captions(options)
        self._options = options
        # Last, as it may read all images.
        self.scaling: Any = self._scaling(batches, options)

    def draw(self, batches: Iterable[Any]) -> Any:  # noqa: ANN401
        """Draws the whole grid."""
        canvas = torch_canvas(self._torch, self.like, self.arrangement, self._options)
        kit = TorchKit(self._torch, self.arrangement.elements * self.like.element_size())
        assembly = Assembly(kit, self.arrangement, canvas, self.pad, self.scaling, self.captions)
        return assembly.draw(batches)

    def _scaling(
        self, batches: Sequence[Any], options: Options
    ) -> Scaling | EachByItself | AllTogether | None:
        if options.normalize is not True:
            return None
        if options.value_range is not None:
            return Scaling(*options.value_range[:2])
        if options.scale_each is True:
            return EachByItself()
        return self._common_scaling(batches)

    def _common_scaling(self, batches: Sequence[Any]) -> Scaling | AllTogether:
        return Scaling(*range_of(self._torch, batches, self.like.dtype))

    def _pad(self, options: Options) -> Any:  # noqa: ANN401
        return self._colour(options.colour(self.arrangement.channels))

    def _colour(self, values: Sequence[Any]) -> Any:  # noqa: ANN401
        if len(values) == 1:
            return self._pad_of(values[0])
        colour = self.like.new_empty((len(values), 1, 1))
        for channel, value in zip(colour, values):
            channel.copy_(self._pad_of(value)[0])
        return colour

    def _pad_of(self, value: Any) -> Any:  # noqa: ANN401
        # Two, since PyTorch accepts a value beyond the dtype where it fills a single element.
        return self.like.new_full((2, 1, 1), value)[:1]

    def _captions(self, options: Options) -> Captions:
        is_bytes = self.like.dtype is self._torch.uint8
        if not is_bytes and not self.like.is_floating_point():
            raise no_labels_on(self.like.dtype)
        channels = self.arrangement.channels
        ink = ink_of(options.colour(channels), channels, 255 if is_bytes else 1)
        return Captions(texts_of(options.labels, self.arrangement.cells), self._colour(ink))


class SheetAtOnce(Sheet):
    """A sheet on which every step is done for all cells together."""

    def draw(self, batches: Iterable[Any]) -> Any:  # noqa: ANN401
        """Draws the whole grid."""
        area = self.arrangement
        canvas = torch_canvas(self._torch, self.like, area, self._options)
        at_once.draw(self._torch, canvas, area, list(batches), self.pad, self.scaling)
        if self.captions is not None:
            kit = TorchKit(self._torch, 0)
            for row in range(area.rows):
                write_captions(kit, canvas, area, row, self.pad, self.captions)
        return canvas

    def _common_scaling(self, _: Sequence[Any]) -> Scaling | AllTogether:
        # Found on the canvas, once the images are there.
        return AllTogether()


def _batches(torch: Any, images: Any) -> list[Any] | None:  # noqa: ANN401
    """Two images or more as tensors of four dimensions; `None` if anything is unusual."""
    if not isinstance(images, list):
        usual = images.dim() == 4 and images.size(0) > 1 and _is_usual(torch, images)
        return [images] if usual else None
    if len(images) < 2 or any(image.dim() != 3 for image in images):
        return None
    first = images[0]
    for image in images:
        if not _is_usual(torch, image) or image.shape != first.shape:
            return None
    if any(image.device != first.device for image in images):
        return None
    return [image.unsqueeze(0) for image in images]


def _is_usual(torch: Any, tensor: Any) -> bool:  # noqa: ANN401
    """Whether it has elements that lie in memory as strides say, and nobody steps in between."""
    return (
        tensor.layout is torch.strided
        and not tensor.is_quantized
        and not tensor.is_nested
        and tensor.numel() > 0
        and type(tensor).__torch_dispatch__ is torch.Tensor.__torch_dispatch__
    )


def _is_transformed(torch: Any, tensor: Any) -> bool:  # noqa: ANN401
    """Whether a transformation of functions looks on, for which nothing can be written elsewhere.

    That is `torch.func.vmap` and the like, and forward-mode differentiation.
    """
    if torch.autograd.forward_ad._current_level >= 0:
        return True
    return bool(torch._C._functorch.is_functorch_wrapped_tensor(tensor))


def _is_drawn_at_once(torch: Any, batches: Sequence[Any]) -> bool:  # noqa: ANN401
    """Whether every step is done for all cells together: where a step costs more than its work.

    What traces or transforms functions takes only steps that write nothing elsewhere.
    """
    if batches[0].device.type == "cpu" or torch.compiler.is_compiling():
        return False
    return not any(_is_transformed(torch, batch) for batch in batches)


def _can_scale(torch: Any, batches: Sequence[Any], options: Options) -> bool:  # noqa: ANN401
    """Whether scaling by blocks does what scaling at once would do, errors included."""
    if options.normalize is not True:
        return True
    if any(_is_transformed(torch, batch) for batch in batches):
        return False
    floating = {torch.float16, torch.bfloat16, torch.float32, torch.float64}
    dtypes = {batch.dtype for batch in batches}
    if len(dtypes) > 1:
        whole = {torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64}
        if not dtypes <= floating | whole or not dtypes & floating:
            return False
    elif not dtypes <= floating:
        return False
    bounds = options.value_range
    if bounds is None:
        return not batches[0].is_meta
    return isinstance(bounds, tuple) and len(bounds) >= 2 and all(map(_is_number, bounds[:2]))


def _is_number(bound: Any) -> bool:  # noqa: ANN401
    # A tensor of no dimensions takes part in arithmetic as a number does.
    return type(bound) in (int, float) or getattr(bound, "shape", None) == ()


def _prototype(torch: Any, batches: Sequence[Any]) -> Any:  # noqa: ANN401
    """An empty tensor of the class, dtype and device that all images have once they are stacked.

    What cannot be stacked, or repeated to become three channels, is refused here.
    """
    samples = [batch[0, 0, 0, :0] for batch in batches]
    like = samples[0] if len(samples) == 1 else torch.stack(samples)
    return torch.cat([like] * 3) if batches[0].shape[1] == 1 else like
