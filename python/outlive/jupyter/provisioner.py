"""The provisioner: starts Python kernels under `outlive run`, and sees how they end.

Kernels of other languages are started as Jupyter does it: they would gain a verdict, and Outlive's
library would be in programs that it is not tested with.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
from pathlib import Path
from typing import Any

from jupyter_client.provisioning import LocalProvisioner  # type: ignore[import-not-found]
from traitlets import Bool, Unicode, default  # type: ignore[import-not-found]

from outlive._command import program
from outlive._native import CommandError
from outlive.jupyter import events, kernels
from outlive.jupyter import verdict as verdicts
from outlive.jupyter.announcement import Announcement
from outlive.jupyter.life import Life

NAME = "outlive-provisioner"

_PYTHON = re.compile(r"(python|pypy)[0-9.]*t?")
# How much sooner than the server the kernel is taken when the machine's memory is used up.
_OOM_SCORE_STEP = 300
_OOM_SCORE_MOST = 1000
# `outlive run` tells its folder before it starts the kernel: milliseconds.
_TELLING_SECONDS = 5.0
# From the end of the pipe to the end of a process that failed.
_FAILING_SECONDS = 0.5


class OutliveProvisioner(LocalProvisioner):  # type: ignore[misc]
    """Starts kernels on this machine with a guard and a black box around them."""

    enabled = Bool(True, help="Whether Python kernels are started under Outlive.").tag(config=True)
    limit = Unicode(
        help="Memory that a kernel and its processes may use: `8GiB`, `80%` or `auto`."
    ).tag(config=True)

    # The present one, or the last.
    life: Life | None = None

    @default("limit")  # type: ignore[untyped-decorator]
    def _default_limit(self) -> str:
        return os.environ.get("OUTLIVE_LIMIT") or "auto"

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> Any:  # noqa: ANN401
        """Starts a kernel; unguarded where Outlive cannot be started.

        Args:
            cmd: The kernel's command.
            **kwargs: For `Popen`.
        """
        self._end_life()
        self.life = None
        if self.enabled and self._runs_python(cmd) and _is_found(cmd[0], kwargs.get("env")):
            try:
                connection = await self._launch_guarded(cmd, kwargs)
            except (OSError, CommandError) as error:
                self._warn(str(error).splitlines()[0])
            else:
                if connection is not None:
                    return connection
                self._warn("`outlive run` failed")
        kernels.started(self.kernel_id, None)
        return await super().launch_kernel(cmd, **kwargs)

    async def poll(self) -> int | None:
        """The kernel's status, `None` while it runs."""
        status: int | None = await super().poll()
        if status is not None and self.life is not None:
            self.life.look()
        return status

    async def send_signal(self, signum: int) -> None:
        """Sends a signal to the kernel's process group.

        Args:
            signum: The signal.
        """
        if self.life is not None:
            self.life.note_signal(signum)
        await super().send_signal(signum)

    async def kill(self, restart: bool = False) -> None:
        """Ends the kernel at once.

        Args:
            restart: Whether another follows.
        """
        self._ask_to_end()
        await super().kill(restart=restart)

    async def terminate(self, restart: bool = False) -> None:
        """Asks the kernel to end.

        Args:
            restart: Whether another follows.
        """
        self._ask_to_end()
        await super().terminate(restart=restart)

    async def shutdown_requested(self, restart: bool = False) -> None:
        """Jupyter has asked the kernel to end by itself.

        Args:
            restart: Whether another follows.
        """
        self._ask_to_end()
        await super().shutdown_requested(restart=restart)

    async def cleanup(self, restart: bool = False) -> None:
        """Gives back what the kernel took here.

        Args:
            restart: Whether another follows.
        """
        self._end_life()
        await super().cleanup(restart=restart)

    def _runs_python(self, cmd: list[str]) -> bool:
        language = (getattr(self.kernel_spec, "language", None) or "").lower()
        is_python = bool(cmd) and _PYTHON.fullmatch(Path(cmd[0]).name) is not None
        # Kernels of other languages may be written in Python; what they start is not ours.
        return language == "python" if language else is_python

    async def _launch_guarded(self, cmd: list[str], kwargs: dict[str, Any]) -> Any:  # noqa: ANN401
        """Starts `outlive run` around a kernel; nothing where that failed at once."""
        announcement = Announcement()
        options = {**kwargs}
        options["pass_fds"] = (*options.get("pass_fds", ()), announcement.descriptor)
        words = self._words(announcement.descriptor)
        try:
            connection = await super().launch_kernel([*words, *cmd], **options)
        except BaseException:
            announcement.forget()
            raise
        announcement.listen()
        life = Life(self.process, announcement, self._tell)
        directory = await announcement.within(_TELLING_SECONDS)
        if directory is None and await self._failed():
            life.let_go()
            return None
        self.life = life
        kernels.started(self.kernel_id, directory)
        return connection

    def _words(self, descriptor: int) -> list[str]:
        words = [str(program()), "run", "--quiet", "--with-parent"]
        words += ["--announce-fd", str(descriptor), "--oom-score-adj", str(_oom_score())]
        return [*words, "--limit", self.limit, "--"]

    async def _failed(self) -> bool:
        """Whether `outlive run` ended without having started anything."""
        deadline = asyncio.get_running_loop().time() + _FAILING_SECONDS
        while self.process.poll() is None:
            if asyncio.get_running_loop().time() > deadline:
                return False
            await asyncio.sleep(0.01)
        return True

    def _ask_to_end(self) -> None:
        if self.life is not None:
            self.life.ask_to_end()

    def _end_life(self) -> None:
        if self.life is not None:
            self.life.let_go()
            kernels.ended(self.kernel_id, self.life.directory)

    def _tell(self, life: Life, found: dict[str, Any] | None) -> None:
        """Puts a verdict where people look: the kernel's model and the server's events."""
        kernels.ended(self.kernel_id, life.directory)
        if found is None:
            return
        manager = self.parent
        environment = (getattr(manager, "_launch_args", None) or {}).get("env") or {}
        found["kernel_id"] = self.kernel_id
        found["kernel_name"] = getattr(manager, "kernel_name", None)
        found["notebook"] = environment.get("JPY_SESSION_NAME") or found["notebook"]
        self.log.warning("%s", verdicts.reason(found))
        kernels.judged(self.kernel_id, found)
        try:
            if manager is not None and manager.has_trait("reason"):
                manager.reason = verdicts.reason(found)
            if manager is not None and manager.has_trait("event_logger"):
                events.emit(manager.event_logger, found)
        except Exception:
            self.log.debug("A verdict was not told", exc_info=True)

    def _warn(self, why: str) -> None:
        self.log.warning("Kernel %s starts without Outlive: %s", self.kernel_id, why)


def _is_found(command: str, variables: dict[str, str] | None) -> bool:
    """Whether there is such a program; if not, Jupyter's own error says it best."""
    path = (os.environ if variables is None else variables).get("PATH")
    return shutil.which(str(Path(command).expanduser()), path=path) is not None


def _oom_score() -> int:
    try:
        own = int(Path("/proc/self/oom_score_adj").read_text())
    except (OSError, ValueError):
        own = 0
    return min(_OOM_SCORE_MOST, own + _OOM_SCORE_STEP)
