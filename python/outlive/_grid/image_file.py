"""Rows of bytes as a file: PNG by our own writer, other formats by Pillow."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from itertools import chain
from typing import Any

from outlive._grid.kit import LARGEST_BLOCK
from outlive._grid.rows import Rows


def save(rows: Rows, target: Any, name: str | None) -> None:  # noqa: ANN401
    """Writes a picture.

    Args:
        rows: The picture.
        target: A path, or a file that is open for writing bytes.
        name: The format; `None` if the name of the file says it.
    """
    if _is_png(target, name) and 2 <= rows.channels <= 4 and rows.height and rows.width:
        # What cannot be drawn at all fails before a file is touched.
        parts = chain((next(rows.parts),), rows.parts)
        with _opened(target) as file:
            _write_png(rows._replace(parts=parts), file)
        return
    pillow = import_module("PIL.Image")
    pillow.fromarray(_joined(rows)).save(target, format=name)


def _is_png(target: Any, name: str | None) -> bool:  # noqa: ANN401
    if name:
        return isinstance(name, str) and name.upper() == "PNG"
    path: Any = target if _is_path(target) else getattr(target, "name", None)
    if not _is_path(path):
        return False
    return os.path.splitext(os.fsdecode(path))[1].lower() == ".png"  # noqa: PTH122


def _is_path(value: object) -> bool:
    return isinstance(value, (str, bytes, os.PathLike))


@contextmanager
def _opened(target: Any) -> Iterator[Any]:  # noqa: ANN401
    """A file to write to. One that is new and was not finished is taken away again."""
    if not _is_path(target):
        yield target
        if hasattr(target, "flush"):
            target.flush()
        return
    is_new = not os.path.exists(target)  # noqa: PTH110
    with open(target, "wb") as file:  # noqa: PTH123
        try:
            yield file
        except BaseException:
            if is_new:
                os.unlink(target)  # noqa: PTH108
            raise


def _write_png(rows: Rows, file: Any) -> None:  # noqa: ANN401
    from outlive._native import PngWriter

    writer = PngWriter(file, rows.width, rows.height, rows.channels)
    step = max(1, LARGEST_BLOCK // (rows.width * rows.channels))
    for part in rows.parts:
        # A part may be the whole picture, of which there is no second copy.
        for top in range(0, len(part), step):
            writer.write(part[top : top + step].tobytes())
    writer.close()


def _joined(rows: Rows) -> Any:  # noqa: ANN401
    """All rows in one array, for a library that wants them so."""
    numpy = import_module("numpy")
    whole: Any = None
    top = 0
    for part in rows.parts:
        if len(part) == rows.height:
            return part
        if whole is None:
            whole = numpy.empty((rows.height, rows.width, rows.channels), numpy.uint8)
        whole[top : top + len(part)] = part
        top += len(part)
    return whole
