"""Memory for a grid: not filled, in huge pages where it is large, or in a file."""

from __future__ import annotations

from math import prod
from typing import Any

from outlive._grid.arrangement import Arrangement
from outlive._grid.options import Options
from outlive._grid.over_budget import OverBudget

# Smaller results come from memory that the C library has already.
HUGE = 8 << 20


def torch_canvas(torch: Any, like: Any, arrangement: Arrangement, options: Options) -> Any:  # noqa: ANN401
    """A tensor for a grid with values of no meaning.

    Args:
        torch: The library.
        like: A tensor of the class, dtype and device of the result.
        arrangement: The size.
        options: The budget, and what to do about it.

    Raises:
        OverBudget: The grid is larger than `max_bytes`.
    """
    size = arrangement.elements * like.element_size()
    if is_over(size, options, has_file=like.device.type == "cpu"):
        return torch_file(torch, like, arrangement.shape)
    canvas = like.new_empty(arrangement.shape)
    if size >= HUGE and canvas.device.type == "cpu":
        _ask_for_huge_pages(torch, canvas, size)
    return canvas


def numpy_canvas(numpy: Any, dtype: Any, shape: tuple[int, ...], options: Options) -> Any:  # noqa: ANN401
    """An array for a grid with values of no meaning. NumPy asks for huge pages itself.

    Raises:
        OverBudget: The grid is larger than `max_bytes`.
    """
    size = prod(shape) * dtype.itemsize
    if not is_over(size, options):
        return numpy.empty(shape, dtype)
    from outlive._grid.scratch_file import scratch_file

    with scratch_file(size) as path:
        mapped = numpy.memmap(path, dtype, mode="r+", shape=shape)
    return mapped.view(numpy.ndarray)


def is_over(
    size: int, options: Options, *, has_file: bool = True, images: int | None = None
) -> bool:
    """Whether a result has to go to a file.

    Args:
        size: Its bytes.
        options: The budget, and what to do about it.
        has_file: Whether it could lie in one: what is on a GPU cannot.
        images: How many were read, if there may be more.

    Raises:
        OverBudget: It is too large, and nobody said that a file will do, or none would.
    """
    if options.max_bytes is None or size <= options.max_bytes:
        return False
    if options.over == "raise" or not has_file:
        raise OverBudget(size, options.max_bytes, has_file, images)
    return True


def torch_file(torch: Any, like: Any, shape: tuple[int, ...]) -> Any:  # noqa: ANN401
    """A tensor in a file, for what is over the budget."""
    from outlive._grid.scratch_file import scratch_file

    size = prod(shape) * like.element_size()
    with scratch_file(size) as path:
        storage = torch.UntypedStorage.from_file(path, shared=True, nbytes=size)
    return torch.empty(0, dtype=like.dtype, device="cpu").set_(storage, 0, shape)


def _ask_for_huge_pages(torch: Any, canvas: Any, size: int) -> None:  # noqa: ANN401
    """A fault for every 4 KiB takes longer than the copy of an image into them."""
    if torch.compiler.is_compiling() or type(canvas) is not torch.Tensor:
        return
    try:
        address = canvas.data_ptr()
    except RuntimeError:
        return  # a tensor of `torch.func`, which has no memory of its own
    from outlive import _native

    _native.advise_huge_pages(address, size)
