"""`outlive.save_image`: a grid as a file, without the grid in memory."""

from __future__ import annotations

import sys
from typing import Any

from outlive._grid import captions, image_file
from outlive._grid.make_grid import is_tensors, make_grid
from outlive._grid.options import Options
from outlive._grid.rows import Rows


def save_image(tensor: Any, fp: Any, format: str | None = None, **kwargs: Any) -> None:  # noqa: ANN401
    """Saves images as one picture: the pixels that torchvision's function of this name saves.

    A PNG of tensors is written one row of cells at a time, so the memory it takes is that of a row;
    of other images the grid is made first. Other formats are written by Pillow, from bytes.

    Args:
        tensor: As for `make_grid`. Values from 0 to 1 become 0 to 255; tensors of whole numbers are
            refused as by torchvision, arrays and pictures of bytes are saved as they are, and so
            are tensors of bytes with `labels` or `cell`.
        fp: A path, or a file that is open for writing bytes.
        format: The name of the format; without it the name of the file decides.
        **kwargs: As for `make_grid`, `labels` included.

    Raises:
        ValueError: The format is not known.
        OSError: The file cannot be written.
    """
    torch = sys.modules.get("torch")
    if torch is not None and kwargs.get("cell") is None and is_tensors(torch, tensor):
        from outlive._grid import tensor_rows

        with torch.no_grad():
            rows = tensor_rows.rows_of(torch, tensor, _options(**kwargs))
            image_file.save(rows, fp, format)
        return
    image_file.save(_rows_of_grid(make_grid(tensor, **kwargs)), fp, format)


def _options(**kwargs: Any) -> Options:  # noqa: ANN401
    """The arguments by name; one that `make_grid` does not have is a `TypeError` as there."""
    for name in kwargs.keys() - set(Options._fields):
        raise TypeError(f"save_image() got an unexpected keyword argument {name!r}")
    options = Options(**kwargs).checked()
    if options.labels is not None:
        captions.check(options.labels)
    return options


def _rows_of_grid(grid: Any) -> Rows:  # noqa: ANN401
    """The rows of a grid that is there already, of any library."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(grid, torch.Tensor):
        from outlive._grid import tensor_rows

        return tensor_rows.rows_of_grid(torch, grid)
    from outlive._grid import array_rows

    return array_rows.rows_of(grid)
