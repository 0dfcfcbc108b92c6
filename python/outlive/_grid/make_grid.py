"""`outlive.make_grid`: who makes the grid of what was passed."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from outlive._grid import captions
from outlive._grid.options import Options


def make_grid(
    tensor: Any,  # noqa: ANN401
    nrow: int = 8,
    padding: int = 2,
    normalize: bool = False,
    value_range: tuple[float, float] | None = None,
    scale_each: bool = False,
    pad_value: Any = 0.0,  # noqa: ANN401
    *,
    cell: tuple[int, int] | str | None = None,
    max_bytes: int | str | None = None,
    over: str = "raise",
    labels: Iterable[object] | str | None = None,
) -> Any:  # noqa: ANN401
    """Lays images out in a grid, with no memory but that of the result.

    For tensors and lists of tensors the arguments mean what they mean to torchvision's function of
    this name, and the result is the same bit for bit. Everything else is an addition.

    Args:
        tensor: A batch (n, channels, height, width) or one image of a tensor, an array of NumPy,
            or of any library that has `__dlpack__`; a list, tuple or iterator of images, of paths
            or of Pillow images. Files and Pillow images count as bytes (channels, height, width).
        nrow: Images in a row.
        padding: Pixels between images and around them.
        normalize: Whether values are brought to the range from 0 to 1.
        value_range: The range (low, high) from which; without it the range of all values.
        scale_each: Whether the range is that of each image by itself.
        pad_value: The value of the padding, or one for each channel.
        cell: `(height, width)`, or `"largest"`: images of several sizes, each in the middle of a
            cell. Files and Pillow images are shrunk to fit, others may not be larger. A single
            image is a grid too.
        max_bytes: How large the result may be: bytes, or a size such as `2GiB`.
        over: What to do about a larger one: `"raise"`, or `"file"` to keep it in a temporary file
            in `tempfile.gettempdir()` without a name, whose pages the system can take back.
        labels: One text for each image, or `None` for an image without one: written in a strip of
            12 to 24 pixels below it, in black or white, whichever can be read on the padding. A
            text that is too long loses its middle. A single image is a grid too.

    Returns:
        An array (channels, height, width): of NumPy if all images are NumPy's, otherwise a tensor
        of PyTorch, or of NumPy where PyTorch is not installed. A single image is returned as it is.

    Raises:
        OverBudget: The result is larger than `max_bytes`.
        TypeError: Something is no image, or there are labels on images of neither bytes nor
            floating-point numbers.
        ValueError: Images do not fit together, or there is another number of labels.
    """
    options = Options(
        nrow, padding, normalize, value_range, scale_each, pad_value, cell, max_bytes, over, labels
    ).checked()
    if labels is not None:
        captions.check(labels)
    torch = sys.modules.get("torch")
    if torch is not None and not options.makes_cells and is_tensors(torch, tensor):
        from outlive._grid import tensors

        return tensors.make(torch, tensor, options)
    from outlive._grid import any_images

    return any_images.make(tensor, options)


def is_tensors(torch: Any, images: Any) -> bool:  # noqa: ANN401
    """Whether it is a tensor or a list of nothing but tensors."""
    if isinstance(images, list):
        return all(isinstance(image, torch.Tensor) for image in images)
    return isinstance(images, torch.Tensor)
