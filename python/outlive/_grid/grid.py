"""`outlive.Grid`: a grid that grows, in the memory of one row of its cells."""

from __future__ import annotations

import os
import tempfile
import threading
import uuid
from collections.abc import Iterable, Iterator, Sized
from itertools import repeat
from pathlib import Path
from typing import Any

from outlive._grid.captions import check, elements_of, text_of
from outlive._grid.cell_image import CellImages
from outlive._grid.colour import colour_of
from outlive._grid.options import size_of_cell
from outlive._grid.pictures import is_picture
from outlive._native import GridSpool

# Of files, when nobody says how large a cell is.
FILE_CELL = (256, 256)
LABEL_HEIGHT = 18
# What a row of labels gives after its last.
MISSING = object()


class Grid:
    """Images that are added one by one or in batches, and saved whenever that is of use.

    The cells lie in a temporary file without a name. Memory is one cell while images are added,
    and one row of cells, or one tile of each level, while the grid is saved.

        grid = outlive.Grid(cell=(128, 128))
        for batch, names in loader:
            grid.add(batch, labels=names)
        grid.save("seen.png")  # or .jpg, .webp, .zip, or a folder: a page to zoom into

    Args:
        cell: Height and width of a cell. Larger images are shrunk to fit, smaller ones lie in its
            middle. Without it, cells are as large as the first image, or 256 x 256 for a file.
        columns: Cells in a row; without it the grid is about square.
        padding: Pixels between cells.
        background: A colour: `"#fff"`, `"#102030"`, or three numbers from 0 to 255.
        labels: Whether there is a strip for labels below the images; without it, if there are any.
            A page shows labels in any case.
    """

    def __init__(
        self,
        cell: tuple[int, int] | None = None,
        columns: int | None = None,
        padding: int = 2,
        background: str | tuple[int, int, int] = "#fff",
        labels: bool | None = None,
    ) -> None:
        if columns is not None and columns < 1:
            raise ValueError(f"A grid needs a column: {columns}")
        if padding < 0:
            raise ValueError(f"padding is negative: {padding}")
        self._columns = columns
        self._padding = padding
        self._background = colour_of(background)
        self._labels = labels
        self._has_labels = False
        self._identity = uuid.uuid4().hex
        self._process = os.getpid()
        # One thread may save while another adds, and a handler of signals in the midst of either.
        self._lock = threading.RLock()
        self._spool: GridSpool | None = (
            None if cell is None else self._new_spool(size_of_cell(cell))
        )

    def __len__(self) -> int:
        return 0 if self._spool is None else len(self._spool)

    def add(
        self,
        images: Any,  # noqa: ANN401
        labels: Iterable[object] | str | None = None,
        *,
        normalize: bool = False,
        value_range: tuple[float, float] | None = None,
        scale_each: bool = False,
    ) -> Grid:
        """Adds images.

        Args:
            images: A batch (n, channels, height, width), an image (channels, height, width) or
                (height, width), a path, an image of Pillow, or a list or iterator of any of these.
                Bytes are taken as they are; floating-point values from 0 to 1 become 0 to 255.
                A file that cannot be read becomes a cell that says so.
            labels: One for each image.
            normalize: Whether values are brought to the range from 0 to 1 first, as by
                `make_grid`.
            value_range: The range for that; without it that of each batch.
            scale_each: Whether each image has a range of its own.

        Returns:
            The grid.

        Raises:
            TypeError: Something is no image.
            ValueError: There are fewer labels than images, or an image has an odd shape.
            RuntimeError: This process was forked from the one that made the grid.
            OSError: The temporary file is full.
        """
        self._check_process()
        reader = CellImages(self._background, normalize, value_range, scale_each)
        _check_number(labels, images)
        texts = _texts(labels)
        for image in reader.read(images):
            label = next(texts, MISSING)
            if label is MISSING:
                raise ValueError(f"There are fewer labels than images: none for image {len(self)}")
            with self._lock:
                self._push(image, None if label is None else text_of(label))
        return self

    def save(self, path: str | os.PathLike[str], title: str | None = None) -> None:
        """Saves all images that were added so far; more can be added and saved after it.

        Args:
            path: A file that ends with `.png`, `.jpg` or `.webp` is one picture. A name without an
                ending, or with `/` at its end, is that of a folder, and one that ends with `.zip`
                of an archive: a page to zoom into. What was saved there before is replaced; a
                folder with anything but a page is refused.
            title: What a page is called; without it, the name of the file.

        Raises:
            OutliveError: There are no images, or the format cannot hold so many.
            RuntimeError: This process was forked from the one that made the grid.
            ValueError: The name is empty, or of another kind of file.
            OSError: It cannot be written.
        """
        self._check_process()
        if not os.fspath(path):
            raise ValueError("A grid needs a name to be saved under")
        with self._lock:
            self._save(path, title)

    def _save(self, path: str | os.PathLike[str], title: str | None) -> None:
        shown = self._has_labels if self._labels is None else self._labels
        height = LABEL_HEIGHT if shown else 0
        # A grid that is empty yet has no size from that.
        spool = self._new_spool(FILE_CELL) if self._spool is None else self._spool
        page = (text_of(title or Path(path).stem), self._identity)
        spool.save(path, self._columns, self._padding, height, page)

    def _check_process(self) -> None:
        """The cells lie in one file: a forked process would write over those of its parent."""
        if os.getpid() != self._process:
            raise RuntimeError(
                "This grid belongs to the process that made it\n"
                "hint: make another one in this process"
            )

    def _push(self, image: Any, label: str | None) -> None:  # noqa: ANN401
        self._has_labels = self._has_labels or label is not None
        if isinstance(image, (str, os.PathLike)):
            self._spool_for(FILE_CELL).push_file(image, label)
            return
        height, width, _ = image.shape
        spool = self._spool_for((height, width))
        name = f"image {len(spool)}" if label is None else label
        spool.push(image.tobytes(), (height, width), name, label)

    def _spool_for(self, cell: tuple[int, int]) -> GridSpool:
        """The cells, which get their size here if nobody said it."""
        if self._spool is None:
            new = self._new_spool(cell)
            # A handler of signals may have been here meanwhile.
            if self._spool is None:
                self._spool = new
        return self._spool

    def _new_spool(self, cell: tuple[int, int]) -> GridSpool:
        return GridSpool(cell, self._background, tempfile.gettempdir())


def _check_number(labels: Any, images: Any) -> None:  # noqa: ANN401
    """Nothing is added if it is known before that labels and images are not as many.

    Raises:
        ValueError: They are not.
    """
    count = _count(images)
    if count is None or not isinstance(labels, Sized):
        return
    given = 1 if isinstance(labels, str) else len(labels)
    if given != count:
        compared = "fewer" if given < count else "more"
        raise ValueError(f"There are {compared} labels than images: {given} for {count}")


def _count(images: Any) -> int | None:  # noqa: ANN401
    """How many images there are, if that can be told without looking at them one by one."""
    if is_picture(images):
        return 1
    if isinstance(images, (list, tuple)):
        counts = [_count(image) for image in images]
        return None if None in counts else sum(filter(None, counts))
    shape = getattr(images, "shape", None)
    if shape is None:
        return None
    return int(shape[0]) if len(shape) == 4 else 1


def _texts(labels: Iterable[object] | str | None) -> Iterator[object]:
    if labels is None:
        return repeat(None)
    check(labels)
    return iter(elements_of(labels))
