"""The smallest and the largest value of tensors, in one pass and without a copy of them.

The sign of a smallest value of zero decides the sign of zeros in a scaled image, and where both
zeros are in an image it depends on the order in which PyTorch looks at its values. Only then the
values are laid out as torchvision would have them, before the grid itself takes any memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

# Tensors that are not contiguous are looked at in copies of so many elements.
ELEMENTS = 1 << 16


def range_of(torch: Any, images: Sequence[Any], dtype: Any) -> tuple[float, float]:  # noqa: ANN401
    """The range of all values together.

    Args:
        torch: The library.
        images: One tensor that ends in (channels, height, width), or batches of them.
        dtype: To which all of them are promoted before anything is calculated.
    """
    # Promotion keeps the order of values, so two of each image are promoted and not all.
    bounds = [_bounds(torch, image) for image in images]
    low = float(_together(torch, [low.to(dtype) for low, _ in bounds]).min())
    if low == 0.0 and _has_sign(torch, images):
        low = float(_laid_out(torch, images).to(dtype).min())
    return low, float(_together(torch, [high.to(dtype) for _, high in bounds]).max())


def _together(torch: Any, numbers: Sequence[Any]) -> Any:  # noqa: ANN401
    """Tensors of no dimensions as one. `torch.autocast` changes or refuses what has no `out`."""
    if len(numbers) == 1:
        return numbers[0]
    return torch.stack(list(numbers), out=numbers[0].new_empty(len(numbers)))


def _bounds(torch: Any, image: Any) -> tuple[Any, Any]:  # noqa: ANN401
    """The range of one tensor, as tensors: nobody waits for a GPU here."""
    lowest: Any = None
    highest: Any = None
    for part in _parts(image):
        low, high = torch.aminmax(part)
        lowest = low if lowest is None else torch.minimum(lowest, low)
        highest = high if highest is None else torch.maximum(highest, high)
    return lowest, highest


def _parts(image: Any) -> Iterator[Any]:  # noqa: ANN401
    """The tensor itself if it lies in memory as it is, else copies of parts, in the same place.

    One place for all copies: were each freed, small results would settle where it was, and the
    next would not fit there.
    """
    if image.is_contiguous() and not image.is_neg():
        yield image
        return
    place = image.new_empty(min(ELEMENTS, image.numel()))
    for part in _pieces(image):
        yield place[: part.numel()].view(part.shape).copy_(part)


def _pieces(image: Any) -> Iterator[Any]:  # noqa: ANN401
    if image.numel() <= ELEMENTS or image.dim() == 0:
        yield image
        return
    axis = max(range(image.dim()), key=image.size)
    step = max(1, ELEMENTS * image.size(axis) // image.numel())
    for start in range(0, image.size(axis), step):
        yield from _pieces(image.narrow(axis, start, min(step, image.size(axis) - start)))


def is_negative_zero(torch: Any, values: Any) -> Any:  # noqa: ANN401
    """Whether there is a negative zero among values none of which is less than zero, as a tensor.

    Read as a whole number, it is the one value that is negative.
    """
    wholes = {2: torch.int16, 4: torch.int32, 8: torch.int64}
    return values.view(wholes[values.element_size()]).amin(()) < 0


def _has_sign(torch: Any, images: Sequence[Any]) -> bool:  # noqa: ANN401
    found = [
        is_negative_zero(torch, part)
        for image in images
        if image.is_floating_point()
        for part in _parts(image)
    ]
    return bool(found) and bool(torch.stack(found).any())


def _laid_out(torch: Any, images: Sequence[Any]) -> Any:  # noqa: ANN401
    values = images[0] if len(images) == 1 else _stacked(torch, images)
    return torch.cat([values] * 3, -3) if values.size(-3) == 1 else values


def _stacked(torch: Any, batches: Sequence[Any]) -> Any:  # noqa: ANN401
    if len({batch.shape[1:] for batch in batches}) > 1:
        # There is no order of images of several sizes to be kept.
        return torch.stack([batch.min() for batch in batches]).view(1, -1, 1, 1)
    return torch.cat(list(batches))
