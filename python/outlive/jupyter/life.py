"""One life of a kernel: from a start to the end of its process, and what the end was.

A kernel that is started again has another one.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
from pathlib import Path
from typing import Any, Callable

from outlive.jupyter import verdict as verdicts
from outlive.jupyter.announcement import Announcement

# Where the kernel has no descriptors of processes (before Linux 5.3), or a sandbox forbids them.
_LOOK_SECONDS = 0.05
# Ends that an interrupt brought about: a kernel that had not yet come to catch it.
_INTERRUPTED = ("interrupted",)

Told = Callable[["Life", "dict[str, Any] | None"], None]


class Life:
    """A kernel's process and the run it is in.

    Attributes:
        process: What was started: `outlive run` around the kernel.
        directory: The run's folder, when it is known.
    """

    def __init__(
        self, process: subprocess.Popen[bytes], announcement: Announcement, told: Told
    ) -> None:
        """Begins to look after a process.

        Args:
            process: The process.
            announcement: Where the run's folder is told.
            told: Called when the end is known, with the verdict, if there is one.
        """
        self.process = process
        self._announcement = announcement
        self._told = told
        self._asked = False
        self._was_interrupted = False
        self._loop = asyncio.get_running_loop()
        self._descriptor: int | None = None
        self._look: asyncio.TimerHandle | None = None
        self._judging: asyncio.Task[dict[str, Any] | None] | None = None
        self._watch()

    @property
    def directory(self) -> Path | None:
        """Folder of the run, as far as it is known."""
        found = self._announcement.directory
        return found.result() if found.done() else None

    def ask_to_end(self) -> None:
        """Notes that the end, when it comes, was asked for: no notebook is to tell it later."""
        self._asked = True
        folder = self.directory
        # Jupyter also asks what has died already, before it starts another.
        if folder is not None and self._judging is None and self.process.poll() is None:
            with contextlib.suppress(OSError):
                (folder / "told").touch()

    def note_signal(self, number: int) -> None:
        """Notes a signal that Jupyter sends.

        Args:
            number: The signal; 0 only asks whether there is a process.
        """
        if number == signal.SIGINT:
            self._was_interrupted = True
        elif number != 0:
            self.ask_to_end()

    def look(self) -> None:
        """Sees whether the process ended, and if so, begins to ask why."""
        if self._judging is None and self.process.poll() is not None:
            self.let_go()
            self._judging = asyncio.get_running_loop().create_task(self._judge())

    async def verdict(self) -> dict[str, Any] | None:
        """Why the process ended; nothing where it goes on, or was asked to end."""
        self.look()
        return None if self._judging is None else await asyncio.shield(self._judging)

    def let_go(self) -> None:
        """Stops watching the process."""
        if self._descriptor is not None:
            descriptor, self._descriptor = self._descriptor, None
            if not self._loop.is_closed():
                self._loop.remove_reader(descriptor)
            os.close(descriptor)
        if self._look is not None:
            self._look.cancel()
            self._look = None

    def _watch(self) -> None:
        try:
            self._descriptor = os.pidfd_open(self.process.pid)
            self._loop.add_reader(self._descriptor, self.look)
        except (OSError, AttributeError, NotImplementedError):
            self._look_again()

    def _look_again(self) -> None:
        self._look = self._loop.call_later(_LOOK_SECONDS, self._look_again)
        self.look()

    async def _judge(self) -> dict[str, Any] | None:
        """Asks for the verdict once, and tells it."""
        asked = self._asked or self.process.returncode == 0
        directory = await self._announcement.within(1)
        found = None
        if not asked and directory is not None:
            try:
                found = await verdicts.verdict_of(directory)
            except Exception as error:
                # The kernel's own end goes its way; there is only nothing to say about it.
                verdicts.log.debug("No verdict for %s: %s", directory, error)
        if found and self._was_interrupted and found["verdict"] in _INTERRUPTED:
            found = None
        self._told(self, found)
        return found
