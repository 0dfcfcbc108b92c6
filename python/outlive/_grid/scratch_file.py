"""A temporary file without a name: it goes when the last mapping of it goes."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def scratch_file(size: int) -> Iterator[str]:
    """A file of this size in the folder for temporary files. Its name is gone after the block.

    Raises:
        OSError: There is not so much room. A write through a mapping could not say so.
    """
    descriptor, path = tempfile.mkstemp(prefix="outlive-grid-")
    try:
        try:
            os.posix_fallocate(descriptor, 0, max(1, size))
        finally:
            os.close(descriptor)
        yield path
    finally:
        Path(path).unlink()
