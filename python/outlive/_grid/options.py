"""The arguments of `make_grid`, as they were passed."""

from __future__ import annotations

import sys
from operator import index
from typing import Any, NamedTuple


class Options(NamedTuple):
    """Everything but the images. The first six are torchvision's, unchecked until they are used."""

    nrow: Any = 8
    padding: Any = 2
    normalize: Any = False
    value_range: Any = None
    scale_each: Any = False
    pad_value: Any = 0.0
    cell: Any = None
    max_bytes: Any = None
    over: Any = "raise"
    labels: Any = None

    def checked(self) -> Options:
        """What torchvision does not have, refused at once where it makes no sense.

        Raises:
            TypeError: `cell` is no pair of whole numbers, or `max_bytes` no size.
            ValueError: There is no such cell or size, or nothing of this name can be done.
        """
        if self.over not in ("raise", "file"):
            raise ValueError(f"over has to be 'raise' or 'file': {self.over!r}")
        plain = self._replace(nrow=_plain(self.nrow, 1), padding=_plain(self.padding, 0))
        # Beside another type, NumPy's calculate otherwise than Python's.
        usual = plain if plain.has_usual_geometry() else self
        return usual._replace(cell=_cell(self.cell), max_bytes=_bytes(self.max_bytes))

    @property
    def makes_cells(self) -> bool:
        """Whether there is more to a cell than its image, so that a single image is a grid too."""
        return self.cell is not None or self.labels is not None

    def colour(self, channels: int) -> list[Any]:
        """The values of the padding: one for all channels, or one for each.

        Raises:
            ValueError: There are others.
        """
        if not isinstance(self.pad_value, (tuple, list)):
            return [self.pad_value]
        if len(self.pad_value) not in (1, channels):
            raise ValueError(f"pad_value has {len(self.pad_value)} values for {channels} channels")
        return list(self.pad_value)

    def has_usual_geometry(self) -> bool:
        """Whether columns and padding are numbers of which a grid can be made."""
        whole = type(self.nrow) is int and type(self.padding) is int
        return whole and self.nrow > 0 and self.padding >= 0


def _plain(number: Any, least: int) -> Any:  # noqa: ANN401
    """A whole number of NumPy as one of Python, where torchvision makes the same grid of both.

    Short ones overflow there, and of zero they make another error.
    """
    numpy = sys.modules.get("numpy")
    is_long = numpy is not None and isinstance(number, numpy.signedinteger) and number.nbytes >= 4
    return int(number) if is_long and number >= least else number


def _bytes(size: Any) -> Any:  # noqa: ANN401
    if size is None:
        return None
    if isinstance(size, str):
        from outlive._limit import size_bytes

        count = size_bytes(size)
        if count is None:
            what = "no share" if "%" in size else "nothing else"
            raise ValueError(f"max_bytes is a size such as `2GiB`, and {what}: {size!r}")
        return count
    count = int(size) if isinstance(size, float) and size.is_integer() else index(size)
    if count < 0:
        raise ValueError(f"max_bytes is negative: {size!r}")
    return count


def _cell(cell: Any) -> Any:  # noqa: ANN401
    if cell is None or (isinstance(cell, str) and cell == "largest"):
        return cell
    if isinstance(cell, str) or not hasattr(cell, "__len__") or len(cell) != 2:
        raise ValueError(f'cell has to be (height, width) or "largest": {cell!r}')
    return size_of_cell(cell)


def size_of_cell(cell: Any) -> tuple[int, int]:  # noqa: ANN401
    """Height and width of a cell.

    Raises:
        ValueError: It is no pair, or has no pixels.
    """
    if isinstance(cell, str) or not hasattr(cell, "__len__") or len(cell) != 2:
        raise ValueError(f"cell has to be (height, width): {cell!r}")
    height, width = map(index, cell)
    if height < 1 or width < 1:
        raise ValueError(f"A cell needs pixels: {cell!r}")
    return height, width
