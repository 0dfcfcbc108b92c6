"""Everything that is an image and no array of the library that makes the grid."""

from __future__ import annotations

import os
import sys
from typing import Any

# A file is decoded within this size where no cell says a smaller one: the most a PNG viewer shows.
LARGEST = 65_500


def is_picture(image: Any) -> bool:  # noqa: ANN401
    """Whether it is a path or an image of Pillow: something that has to be decoded or converted."""
    return isinstance(image, (str, os.PathLike)) or is_pillow(image)


def is_pillow(image: Any) -> bool:  # noqa: ANN401
    """Whether it is an image of Pillow, which is not loaded to find out."""
    pillow = sys.modules.get("PIL.Image")
    return pillow is not None and isinstance(image, pillow.Image)


def array_of(numpy: Any, image: Any, cell: Any) -> Any:  # noqa: ANN401
    """A path or an image of Pillow as bytes (channels, height, width).

    Args:
        numpy: The library.
        image: What `is_picture` knows.
        cell: The size that it is shrunk to fit into, if it is a pair.
    """
    height, width = cell if isinstance(cell, tuple) else (LARGEST, LARGEST)
    if is_pillow(image):
        return _of_pillow(numpy, image, (width, height))
    from outlive import _native

    across, down, pixels = _native.decode(os.fspath(image), width, height)
    flat = numpy.frombuffer(pixels, numpy.uint8)
    return flat.reshape(down, across, 3).transpose(2, 0, 1)


def _of_pillow(numpy: Any, image: Any, size: tuple[int, int]) -> Any:  # noqa: ANN401
    if image.mode.startswith("I;16"):
        # As of files. Pillow itself makes white of all that is brighter than 255 of 65,535.
        pillow: Any = sys.modules["PIL.Image"]
        image = pillow.fromarray((numpy.asarray(image) >> 8).astype(numpy.uint8))
    if image.mode not in ("L", "LA", "RGB", "RGBA"):
        image = image.convert("RGB")
    if image.width > size[0] or image.height > size[1]:
        image = image.copy()
        image.thumbnail(size)
    pixels = numpy.asarray(image)
    return pixels[None] if pixels.ndim == 2 else pixels.transpose(2, 0, 1)
