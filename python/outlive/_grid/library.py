"""Which library makes a grid, and how arrays of other libraries get into it without a copy."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from outlive._grid.pictures import array_of, is_picture


class Library:
    """PyTorch or NumPy."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.module: Any = import_module(name)

    @classmethod
    def of(cls, images: list[Any]) -> Library:
        """The one of these images: PyTorch if any is a tensor, NumPy if all are its arrays.

        For others it is PyTorch where that is installed.
        """
        torch, numpy = sys.modules.get("torch"), sys.modules.get("numpy")
        if torch is not None and any(isinstance(image, torch.Tensor) for image in images):
            return cls("torch")
        if numpy is not None and all(isinstance(image, numpy.ndarray) for image in images):
            return cls("numpy")
        return cls("torch" if find_spec("torch") else "numpy")

    def array(self, image: Any, cell: Any) -> Any:  # noqa: ANN401
        """An image as an array of this library; of its own memory where that can be shared.

        Raises:
            TypeError: It is no image.
        """
        if is_picture(image):
            image = array_of(import_module("numpy"), image, cell)
        if self.name == "numpy":
            return self._numpy_array(image)
        if isinstance(image, self.module.Tensor):
            return image
        return self._tensor(image)

    def _numpy_array(self, image: Any) -> Any:  # noqa: ANN401
        if not hasattr(image, "__dlpack__"):
            raise not_an_image(image)
        if not isinstance(image, self.module.ndarray):
            image = self.module.from_dlpack(image)
        if image.dtype.kind in "OSUMm":
            raise TypeError(f"An image has numbers, not {image.dtype}")
        return image

    def _tensor(self, image: Any) -> Any:  # noqa: ANN401
        numpy = sys.modules.get("numpy")
        if numpy is not None and isinstance(image, numpy.ndarray):
            return self.module.from_numpy(_for_torch(numpy, image))
        if not hasattr(image, "__dlpack__"):
            raise not_an_image(image)
        try:
            return self.module.from_dlpack(image)
        except (TypeError, BufferError, RuntimeError):
            # TensorFlow's method takes no arguments and gives a capsule of the first version.
            return self.module.from_dlpack(image.__dlpack__())


class _Lent:
    """The memory of an array, as if it could be written to. It is only read here.

    PyTorch warns of memory that must not be written to, and to silence a warning changes what other
    threads are warned of.
    """

    def __init__(self, array: Any) -> None:  # noqa: ANN401
        # Keeps the memory.
        self._array = array
        address, _ = array.__array_interface__["data"]
        self.__array_interface__ = {**array.__array_interface__, "data": (address, False)}


def _for_torch(numpy: Any, array: Any) -> Any:  # noqa: ANN401
    """An array that PyTorch can take over; a copy, if PyTorch knows no such layout."""
    steps = (array.dtype.itemsize, *array.strides)
    if not array.dtype.isnative or any(step < 0 or step % steps[0] for step in steps[1:]):
        return array.astype(array.dtype.newbyteorder("="), order="C", copy=True)
    return array if array.flags.writeable else numpy.asarray(_Lent(array))


def not_an_image(image: object) -> TypeError:
    """The error for what is no image."""
    return TypeError(
        "An image, or a list or an iterator of images expected (tensors, arrays, paths or Pillow "
        f"images), got {type(image)}"
    )
