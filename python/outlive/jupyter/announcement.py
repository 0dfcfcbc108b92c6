"""The pipe through which `outlive run` says where its run is, read without waiting for it."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

_PIECE = 4096
# A path is at most as long; more than this is no announcement.
_LONGEST = 64 << 10


class Announcement:
    """One pipe, for one start of `outlive run`.

    Attributes:
        descriptor: What the child inherits and writes to.
        directory: The run's folder, once it is known; `None` where there is no run.
    """

    def __init__(self) -> None:
        self._reading, self.descriptor = os.pipe()
        os.set_blocking(self._reading, False)
        self._loop = asyncio.get_running_loop()
        self._told = b""
        self.directory: asyncio.Future[Path | None] = self._loop.create_future()

    def listen(self) -> None:
        """Goes on once the child has its end: ours is closed, or the pipe would never end."""
        os.close(self.descriptor)
        self._loop.add_reader(self._reading, self._read)

    def forget(self) -> None:
        """For where no child was started."""
        os.close(self.descriptor)
        self._finish(None)

    async def within(self, seconds: float) -> Path | None:
        """The run's folder, if it is told in time; waiting for it may go on elsewhere.

        Args:
            seconds: How long to wait.
        """
        if not self.directory.done():
            await asyncio.wait({self.directory}, timeout=seconds)
        return self.directory.result() if self.directory.done() else None

    def _read(self) -> None:
        try:
            piece = os.read(self._reading, _PIECE)
        except BlockingIOError:
            return
        except OSError:
            piece = b""
        self._told += piece
        if not piece or b"\n" in piece or len(self._told) > _LONGEST:
            self._loop.remove_reader(self._reading)
            self._finish(_directory(self._told))

    def _finish(self, directory: Path | None) -> None:
        os.close(self._reading)
        if not self.directory.done():
            self.directory.set_result(directory)


def _directory(told: bytes) -> Path | None:
    try:
        return Path(json.loads(told)["directory"])
    except (ValueError, KeyError, TypeError):
        return None
