"""Grids of what torchvision does not take: tuples, iterators, other arrays, files, all sizes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from itertools import chain
from typing import Any

from outlive._grid import arrays, tensors
from outlive._grid.library import Library, not_an_image
from outlive._grid.options import Options
from outlive._grid.pictures import is_picture
from outlive._grid.stream import Stream


def make(images: Any, options: Options) -> Any:  # noqa: ANN401
    """The grid of anything that is an image or gives images.

    Raises:
        TypeError: It is neither.
        ValueError: Images do not fit together, or there is none.
    """
    if not gives_images(images):
        raise not_an_image(images)
    if is_picture(images):
        images = [images]
    if hasattr(images, "__dlpack__"):
        library = Library.of([images])
        return _of_array(library, library.array(images, options.cell), options)
    if isinstance(images, (list, tuple)) and images and not any(map(is_picture, images)):
        library = Library.of(list(images))
        return _of_list(library, [library.array(image, None) for image in images], options)
    return _of_iterator(images, options)


def gives_images(images: Any) -> bool:  # noqa: ANN401
    """Whether it is an image, or something in which images have an order."""
    if isinstance(images, (Mapping, Set, bytes, bytearray)):
        return False
    return is_picture(images) or hasattr(images, "__dlpack__") or isinstance(images, Iterable)


def _check(options: Options) -> None:
    for name in ("nrow", "padding"):
        if not isinstance(getattr(options, name), int):
            raise TypeError(f"{name} has to be a whole number: {getattr(options, name)!r}")
    if options.nrow < 1 or options.padding < 0:
        raise ValueError(f"nrow={options.nrow} and padding={options.padding} make no grid")


def _of_array(library: Library, array: Any, options: Options) -> Any:  # noqa: ANN401
    if library.name == "torch" and not options.makes_cells:
        return tensors.make(library.module, array, options)
    if array.ndim == 2:
        array = array[None]
    if array.ndim == 3:
        array = array[None]
    return _of_batches(library, [array], options)


def _of_list(library: Library, images: list[Any], options: Options) -> Any:  # noqa: ANN401
    if library.name == "torch" and not options.makes_cells:
        return tensors.make(library.module, images, options)
    if images[0].ndim == 2 and all(image.shape == images[0].shape for image in images):
        # Like PyTorch's: a list of planes is one image of so many channels.
        return _of_batches(library, [library.module.stack(images)[None]], options)
    _check_dimensions(images)
    return _of_batches(library, [image[None] for image in images], options)


def _of_iterator(images: Any, options: Options) -> Any:  # noqa: ANN401
    _check(options)
    source = iter(images)
    first = next(source, None)
    if first is None:
        raise ValueError("There is no image to make a grid of")
    library = Library.of([first])
    stream = Stream(library, _converted(library, chain([first], source), options), options)
    return _of_batches(library, stream.batches, options, stream)


def _converted(library: Library, images: Iterable[Any], options: Options) -> Iterator[Any]:
    kinds = set()
    for image in images:
        array = library.array(image, options.cell)
        _check_dimensions([array])
        if is_picture(image):
            kinds.add("picture")
        elif "float" in str(array.dtype):
            kinds.add("float")
        if len(kinds) > 1:
            raise TypeError(
                "Files and Pillow images count as bytes, from 0 to 255, and do not go with "
                "images of floating-point numbers\nhint: make those bytes too"
            )
        yield array


def _check_dimensions(images: Iterable[Any]) -> None:
    for image in images:
        if image.ndim != 3 or 0 in image.shape:
            raise ValueError(
                f"An image has the shape (channels, height, width), not {tuple(image.shape)}"
            )


def _of_batches(
    library: Library, batches: list[Any], options: Options, stream: Stream | None = None
) -> Any:  # noqa: ANN401
    _check(options)
    if any(batch.ndim != 4 or 0 in batch.shape for batch in batches):
        shapes = sorted({tuple(batch.shape) for batch in batches})
        raise ValueError(f"Images without pixels, or no images: {shapes[:4]}")
    if not options.makes_cells and sum(map(len, batches)) == 1:
        [batch] = batches
        if library.name == "torch":
            return tensors.make(library.module, batch, options)
        return arrays.single(library.module, batch[0], options)
    if library.name == "torch":
        with library.module.no_grad():
            return _drawn(tensors.Sheet(library.module, batches, options), batches, stream)
    return _drawn(arrays.Sheet(library.module, batches, options), batches, stream)


def _drawn(sheet: Any, batches: list[Any], stream: Stream | None) -> Any:  # noqa: ANN401
    if stream is None:
        return sheet.draw(batches)
    # Nothing may hold a batch once it is drawn.
    batches.clear()
    return sheet.draw(stream.consume())
