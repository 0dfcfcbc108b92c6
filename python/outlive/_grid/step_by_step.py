"""A grid of tensors by the plain sequence of steps, for single images and for all that is unusual.

What torchvision refuses is refused here by the same operations in the same order, so that the
errors are the same. No step copies what an earlier one has copied already.
"""

from __future__ import annotations

import math
from itertools import product
from typing import Any

from outlive._grid.canvas import is_over, torch_file
from outlive._grid.kit import LARGEST_BLOCK, Scaling
from outlive._grid.options import Options
from outlive._grid.torch_kit import scale
from outlive._grid.torch_range import range_of


class Batch:
    """Images on their way to a grid, and whether their memory is ours already."""

    def __init__(self, torch: Any, images: Any, options: Options) -> None:  # noqa: ANN401
        self._torch = torch
        self._options = options
        self._is_ours = False
        self.tensor = self._stacked(images) if isinstance(images, list) else images
        self._add_dimensions()

    def _stacked(self, images: list[Any]) -> Any:  # noqa: ANN401
        is_plain = all(_is_plain(self._torch, image) for image in images)
        is_single = is_plain and len(images) == 1 and images[0].dim() == 3
        if is_single and images[0].size(0) == 1:
            # It is copied three times below, in three dimensions, where no layout is inherited.
            return images[0]
        self._is_ours = True
        room = None
        is_single = is_single or (is_plain and bool(images) and images[0].dim() == 2)
        if is_single and self._options.max_bytes is not None:
            like = self._torch.stack([image.new_empty(0) for image in images])
            room = self._room((len(images), *images[0].shape), like)
        return self._torch.stack(images, out=room)

    def _room(self, shape: tuple[int, ...], like: Any) -> Any:  # noqa: ANN401
        """A place in a file for an image that is over the budget; `None` where memory will do."""
        size = math.prod(shape) * like.element_size()
        if not is_over(size, self._options, has_file=like.device.type == "cpu"):
            return None
        return torch_file(self._torch, like, shape)

    def _add_dimensions(self) -> None:
        if self.tensor.dim() == 2:
            self.tensor = self.tensor.unsqueeze(0)
        if self.tensor.dim() == 3:
            self._make_colour(0)
            self.tensor = self.tensor.unsqueeze(0)
        if self.tensor.dim() == 4:
            self._make_colour(1)

    def _make_colour(self, axis: int) -> None:
        if self.tensor.size(axis) == 1:
            room = None
            if _is_plain(self._torch, self.tensor):
                shape = list(self.tensor.shape)
                shape[axis] = 3
                room = self._room(tuple(shape), self.tensor)
            self.tensor = self._torch.cat([self.tensor] * 3, axis, out=room)
            self._is_ours = True

    def normalize(self, options: Options) -> None:
        """Brings values to the range from 0 to 1; the caller's own stay as they are."""
        if options.value_range is not None and not isinstance(options.value_range, tuple):
            raise TypeError("value_range has to be a tuple (low, high) of two numbers")
        self._refuse_early(options)
        by_itself = options.scale_each is True
        known = [] if by_itself else [self._scaling(self.tensor, options)]
        if not self._is_ours:
            self.tensor = self._clone()
        for image in self.tensor if by_itself else (self.tensor,):
            scaling = known[0] if known else self._scaling(image, options)
            for part in _parts(self._torch, image):
                scale(part, scaling)

    def _clone(self) -> Any:  # noqa: ANN401
        is_single = self.tensor.dim() == 4 and self.tensor.size(0) == 1
        is_plain = is_single and _is_plain(self._torch, self.tensor)
        room = self._room(tuple(self.tensor.shape), self.tensor) if is_plain else None
        return self.tensor.clone() if room is None else room.copy_(self.tensor)

    def _refuse_early(self, options: Options) -> None:
        """Lets a dtype that cannot be scaled fail before all images are copied."""
        if _is_floating(self._torch, self.tensor) or self.tensor.dim() < 2:
            return
        probe = self.tensor[..., :1, :1].clone()
        for image in probe if options.scale_each is True else (probe,):
            scale(image, self._scaling(image, options))

    def _scaling(self, image: Any, options: Options) -> Scaling:  # noqa: ANN401
        if options.value_range is not None:
            return Scaling(options.value_range[0], options.value_range[1])
        known = _has_parts(self._torch, image) and not image.is_meta
        if known and _is_floating(self._torch, image):
            return Scaling(*range_of(self._torch, [image], image.dtype))
        return Scaling(float(image.min()), float(image.max()))


def make(torch: Any, images: Any, options: Options) -> Any:  # noqa: ANN401
    """The grid of a tensor or a list of tensors."""
    batch = Batch(torch, images, options)
    if options.normalize is True:
        batch.normalize(options)
    tensor = batch.tensor
    if tensor.size(0) == 1:
        return tensor.squeeze(0)
    # Numbers are of any type here, and even their products are those of torchvision.
    columns = min(options.nrow, tensor.size(0))
    rows = int(math.ceil(float(tensor.size(0)) / columns))  # noqa: RUF046
    pitch_y = int(tensor.size(2) + options.padding)
    pitch_x = int(tensor.size(3) + options.padding)
    height = pitch_y * rows + options.padding
    width = pitch_x * columns + options.padding
    _refuse_over(tensor, (height, width), options)
    canvas = tensor.new_full((tensor.size(1), height, width), options.pad_value)
    places = product(range(rows), range(columns))
    for index, (row, column) in zip(range(tensor.size(0)), places):
        band = canvas.narrow(1, row * pitch_y + options.padding, pitch_y - options.padding)
        cell = band.narrow(2, column * pitch_x + options.padding, pitch_x - options.padding)
        cell.copy_(tensor[index])
    return canvas


def _refuse_over(tensor: Any, size: tuple[Any, Any], options: Options) -> None:  # noqa: ANN401
    """Files are for images and the usual grids only: other grids are small, or fail anyway."""
    if options.max_bytes is not None:
        height, width = map(int, size)
        nbytes = tensor.size(1) * height * width * tensor.element_size()
        is_over(nbytes, options, has_file=False)


def _is_plain(torch: Any, tensor: Any) -> bool:  # noqa: ANN401
    return tensor.layout is torch.strided and not tensor.is_quantized and not tensor.is_nested


def _is_floating(torch: Any, tensor: Any) -> bool:  # noqa: ANN401
    return tensor.dtype in {torch.float16, torch.bfloat16, torch.float32, torch.float64}


def _has_parts(torch: Any, image: Any) -> bool:  # noqa: ANN401
    return _is_plain(torch, image) and image.dim() > 2 and image.numel() > 0


def _parts(torch: Any, image: Any) -> Any:  # noqa: ANN401
    """The rows of pixels of an image in parts that stay in the cache, or all of it."""
    if not _has_parts(torch, image):
        return (image,)
    size = image.numel() * image.element_size()
    return image.split(max(1, LARGEST_BLOCK * image.size(-2) // size), -2)
