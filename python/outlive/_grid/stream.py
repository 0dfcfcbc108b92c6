"""Images that come one by one, kept until all are there in memory that is given back at once.

The C library keeps freed memory for later. A mapping of our own goes back to the system when its
last array goes, so that a grid can grow while the images it was made of vanish.
"""

from __future__ import annotations

import mmap
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

from outlive._grid.growth import Growth
from outlive._grid.library import Library
from outlive._grid.options import Options
from outlive._grid.scratch_file import scratch_file
from outlive._native import trim

# Images are gathered into mappings of about this size.
CHUNK = 4 << 20
# And those that lie in files into larger and larger ones, up to this size.
LARGEST_FILE = 1 << 30
# Images that were let go leave holes in the C library's memory that no other image fits into.
CHUNKS_BEFORE_TRIM = 4


class Stream:
    """Batches of images that were copied from an iterator.

    Once their grid is too large for memory, what comes lies in files without names as well.
    """

    def __init__(self, library: Library, images: Iterable[Any], options: Options) -> None:
        self._library = library
        self._growth = Growth(options)
        self._in_file = False
        self._file_bytes = CHUNK
        self._batches: deque[Any] = deque()
        self._room: Any = None
        self._filled = 0
        for image in images:
            self._add(image)
        self._close()

    @property
    def batches(self) -> list[Any]:
        """All of them, for a look."""
        return list(self._batches)

    def consume(self) -> Iterator[Any]:
        """Hands the batches out; each is gone when the next one is asked for."""
        while self._batches:
            yield self._batches.popleft()

    def _add(self, image: Any) -> None:  # noqa: ANN401
        self._in_file = self._growth.add(image)
        room = self._room
        if (
            room is None
            or room.shape[1:] != image.shape
            or room.dtype != image.dtype
            or self._filled == len(room)
        ):
            self._close()
            self._open(image)
        if self._library.name == "torch":
            # With gradients the copy would keep all that the image was calculated from.
            with self._library.module.no_grad():
                self._room[self._filled].copy_(image)
        else:
            self._room[self._filled] = image
        self._filled += 1

    def _open(self, image: Any) -> None:  # noqa: ANN401
        size = image.nbytes
        count = max(1, (self._file_bytes if self._in_file else CHUNK) // size)
        shape = (count, *image.shape)
        module = self._library.module
        if self._library.name == "numpy":
            self._room = module.ndarray(shape, image.dtype, self._memory(count * size))
        elif image.device.type != "cpu":
            self._room = image.new_empty(shape)
        else:
            memory = self._memory(count * size)
            flat = module.frombuffer(memory, dtype=image.dtype, count=count * image.numel())
            self._room = flat.view(shape)

    def _memory(self, size: int) -> mmap.mmap:
        if not self._in_file:
            return mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        # Each is twice the one before: every mapping keeps a file open.
        self._file_bytes = min(LARGEST_FILE, 2 * self._file_bytes)
        with scratch_file(size) as path, open(path, "r+b") as file:  # noqa: PTH123
            return mmap.mmap(file.fileno(), size)

    def _close(self) -> None:
        if self._room is not None and self._filled:
            self._batches.append(self._room[: self._filled])
            if len(self._batches) % CHUNKS_BEFORE_TRIM == 0:
                trim()
        self._room, self._filled = None, 0
