"""Images of any kind as bytes of red, green and blue, one at a time."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Any

from outlive._grid.any_images import gives_images
from outlive._grid.array_rows import bytes_of
from outlive._grid.kit import Scaling
from outlive._grid.library import Library, not_an_image
from outlive._grid.pictures import is_picture, is_pillow


class CellImages:
    """Reads images for the cells of a grid."""

    def __init__(
        self,
        background: tuple[int, int, int],
        normalize: bool,
        value_range: tuple[float, float] | None,
        scale_each: bool,
    ) -> None:
        self._background = background
        self._normalize = normalize
        self._value_range = value_range
        self._scale_each = scale_each

    def read(self, images: Any) -> Iterator[Any]:  # noqa: ANN401
        """Paths as they are, and all others as bytes (height, width, 3).

        Raises:
            TypeError: Something is no image.
            ValueError: An image has an odd shape.
        """
        if not gives_images(images):
            raise not_an_image(images)
        if is_picture(images) or hasattr(images, "__dlpack__"):
            yield from self._read_one(images, None)
            return
        shared = self._shared_range(images)
        for image in images:
            yield from self._read_one(image, shared)

    def _read_one(self, image: Any, shared: Scaling | None) -> Iterator[Any]:  # noqa: ANN401
        if is_picture(image) and not is_pillow(image):
            yield os.fspath(image)
            return
        library, batch = _batch_of(image)
        if len(batch) == 0:
            return
        known = shared or self._range(library, [batch])
        for one in batch:
            scaling = self._range(library, [one[None]]) if self._scale_each else known
            yield self._composed(_in_bytes(library, one, scaling))

    def _shared_range(self, images: Iterable[Any]) -> Scaling | None:
        if not self._normalize or self._scale_each or self._value_range is not None:
            return None
        if not isinstance(images, (list, tuple)):
            raise ValueError(  # noqa: TRY004
                "The range of images that come one by one is not known\n"
                "hint: give value_range, or scale_each=True"
            )
        ranges = []
        for image in images:
            if is_picture(image):
                continue  # of bytes, which are taken as they are
            library, batch = _batch_of(image)
            found = self._range(library, [batch]) if len(batch) else None
            ranges += [found] if found else []
        if not ranges:
            return None
        numpy = import_module("numpy")
        # NumPy's, since a value that is no number counts wherever it stands.
        low, high = numpy.min([one.low for one in ranges]), numpy.max([one.high for one in ranges])
        return Scaling(float(low), float(high))

    def _range(self, library: Library, batches: list[Any]) -> Scaling | None:
        if not self._normalize or not all(map(_is_floating, batches)):
            return None
        if self._value_range is not None:
            return Scaling(*self._value_range)
        if library.name == "torch":
            from outlive._grid import torch_range

            found = [batch.detach() for batch in batches]
            return Scaling(*torch_range.range_of(library.module, found, found[0].dtype))
        from outlive._grid import numpy_kit

        return Scaling(*numpy_kit.range_of(library.module, batches))

    def _composed(self, pixels: Any) -> Any:  # noqa: ANN401
        """Colours alone: grey becomes three channels, and what is transparent shows the ground."""
        numpy = import_module("numpy")
        channels = pixels.shape[2]
        if channels == 3:
            return pixels
        if channels == 1:
            return numpy.repeat(pixels, 3, 2)
        if channels not in (2, 4):
            raise ValueError(f"An image has 1 to 4 channels, not {channels}{_hint(pixels.shape)}")
        share = pixels[..., -1:].astype(numpy.uint32)
        ground = numpy.array(self._background, numpy.uint32)
        mixed = pixels[..., :-1] * share + ground * (255 - share)
        return ((mixed + 127) // 255).astype(numpy.uint8)


def _batch_of(image: Any) -> tuple[Library, Any]:  # noqa: ANN401
    """The library of an image or a batch, and its array (n, channels, height, width)."""
    library = Library.of([image])
    array = library.array(image, None)
    if array.ndim not in (2, 3, 4):
        raise ValueError(f"An image has 2 or 3 dimensions, a batch 4: {tuple(array.shape)}")
    if 0 in array.shape[-3:]:
        raise ValueError(f"An image without pixels: {tuple(array.shape)}")
    return library, array if array.ndim == 4 else array.reshape(1, -1, *array.shape[-2:])


def _is_floating(array: Any) -> bool:  # noqa: ANN401
    return "float" in str(array.dtype)


def _hint(shape: tuple[int, ...]) -> str:
    height, width, channels = shape
    if width not in (1, 3, 4):
        return ""
    # As other libraries have it: (height, width, channels).
    return f"\nhint: channels come first: {(width, channels, height)}"


def _in_bytes(library: Library, image: Any, scaling: Scaling | None) -> Any:  # noqa: ANN401
    """One image (channels, height, width) as bytes (height, width, channels) of NumPy."""
    if library.name == "torch":
        return _tensor_in_bytes(library.module, image.detach(), scaling)
    from outlive._grid import numpy_kit

    numpy = library.module
    if numpy.issubdtype(image.dtype, numpy.floating):
        if scaling is not None:
            image = numpy_kit.scaled(numpy, image, scaling)
        image = bytes_of(numpy, image)
    elif image.dtype == numpy.bool_:
        image = image.astype(numpy.uint8) * numpy.uint8(255)
    return numpy.clip(image, 0, 255).astype(numpy.uint8).transpose(1, 2, 0)


def _tensor_in_bytes(torch: Any, image: Any, scaling: Scaling | None) -> Any:  # noqa: ANN401
    from outlive._grid.torch_kit import scale

    if image.is_floating_point():
        image = image.clone()
        if scaling is not None:
            scale(image, scaling)
        image = image.mul_(255).add_(0.5)
    elif image.dtype is torch.bool:
        image = image.to(torch.uint8) * 255
    bytes_ = image if image.dtype is torch.uint8 else image.clamp(0, 255).to(torch.uint8)
    return bytes_.permute(1, 2, 0).cpu().numpy()
