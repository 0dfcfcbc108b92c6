"""Puts Outlive into an IPython shell, and takes it out again.

Loaded by `%load_ext outlive`, or in every kernel of an environment by its configuration. Whatever
fails here costs the user a feature and never the kernel.
"""

from __future__ import annotations

import contextlib
import importlib
import logging
import os
import sys
from pathlib import Path
from typing import Any, Callable

from outlive import _hook
from outlive._native import OutliveError
from outlive.notebook.reserve import Reserve
from outlive.notebook.shell import Replacement, Shell, Told

_log = logging.getLogger("outlive")
# Where the shell keeps what was loaded.
_ATTRIBUTE = "_outlive_extension"


def load(ip: Shell) -> None:
    """Loads the extension; a second time does nothing."""
    if getattr(ip, _ATTRIBUTE, None) is not None:
        return
    try:
        extension = Extension(ip)
        extension.begin()
        setattr(ip, _ATTRIBUTE, extension)
    except Exception:
        _log.debug("The extension could not be loaded", exc_info=True)
        print("Outlive could not be loaded into this shell; it goes on without", file=sys.stderr)


def unload(ip: Shell) -> None:
    """Takes everything out again; the hook stays, which cannot leave a process."""
    extension = getattr(ip, _ATTRIBUTE, None)
    if extension is None:
        return
    setattr(ip, _ATTRIBUTE, None)
    extension.end()


class Extension:
    """What was put into one shell."""

    def __init__(self, ip: Shell) -> None:
        self._ip = ip
        self._undo: list[Callable[[], None]] = []

    def begin(self) -> None:
        """Puts everything in; what fails is left out."""
        self._step(self._guard_this_process)
        from outlive.notebook.cells import Cells

        folder = _run_folder()
        self.cells = Cells(folder)
        self._undo.append(self.cells.close)
        self._previous: Any = None
        self._step(self._record_cells)
        self._step(self._explain_errors)
        self._step(lambda: self._tell_the_last_end(folder))
        self._step(self._add_magics)

    def end(self) -> None:
        """Takes everything out, last in first out."""
        while self._undo:
            with contextlib.suppress(Exception):
                self._undo.pop()()

    def _step(self, step: Callable[[], None]) -> None:
        try:
            step()
        except Exception:
            _log.debug("A part of the extension is missing", exc_info=True)

    def _guard_this_process(self) -> None:
        if _hook.functions():
            return
        try:
            importlib.import_module("outlive._attach").attach()
        except (OutliveError, OSError, ImportError) as error:
            reason = (str(error) or type(error).__name__).splitlines()[0]
            self._warning = f"Outlive does not guard this process: {reason}"
            print(self._warning, file=sys.stderr)
            # While the kernel starts nobody sees it: it is said again in the first cell.
            if len(self._ip.user_ns.get("In", ())) < 2:
                self._on("pre_run_cell", self._warn)

    def _warn(self, info: Told) -> None:
        if not getattr(info, "silent", False):
            print(self._warning, file=sys.stderr)
            with contextlib.suppress(ValueError):
                self._ip.events.unregister("pre_run_cell", self._warn)

    def _record_cells(self) -> None:
        from outlive.notebook.cells import wrapped_cache

        replaced = Replacement(self._ip.compile, "cache", wrapped_cache(self.cells))
        self._undo.append(replaced.take_back)
        self._on("pre_run_cell", self._cell_begins)
        self._on("post_run_cell", self._cell_ends)

    def _explain_errors(self) -> None:
        from outlive.notebook.error_block import with_reserve, wrapped_showtraceback

        wrapped = wrapped_showtraceback(self._ip, self.cells)
        self._undo.append(Replacement(self._ip, "_showtraceback", wrapped).take_back)
        self._reserve = Reserve()
        self._undo.append(self._reserve.give)
        self._reserve.keep()
        prepared = with_reserve(self._reserve)
        self._undo.append(Replacement(self._ip, "showtraceback", prepared).take_back)

    def _tell_the_last_end(self, folder: Path | None) -> None:
        if getattr(self._ip, "kernel", None) is None:
            return
        from outlive.notebook import identity
        from outlive.notebook.post_mortem import PostMortem

        self._folder = folder
        self._me = identity.of_this_process(self._ip)
        if folder is not None:
            identity.write(self._me, folder)
        self._previous = PostMortem(self._me, folder)
        self._previous.start()
        self._on("pre_run_cell", self._tell)

    def _add_magics(self) -> None:
        from outlive.notebook.magics import Magics, register

        magics = Magics(self._ip, self.cells, self._previous_run)
        self._undo.append(register(self._ip, magics))

    def _previous_run(self) -> str | None:
        run: str | None = None if self._previous is None else self._previous.run()
        return run

    def _on(self, event: str, function: Callable[..., None]) -> None:
        self._ip.events.register(event, function)

        def undo() -> None:
            with contextlib.suppress(ValueError):
                self._ip.events.unregister(event, function)

        self._undo.append(undo)

    # IPython looks at how many arguments these take.
    def _cell_begins(self, info: Told) -> None:
        with contextlib.suppress(Exception):
            self.cells.begin(info)
        with contextlib.suppress(Exception):
            self._reserve.keep()

    def _cell_ends(self, _result: Told) -> None:
        with contextlib.suppress(Exception):
            self.cells.end()

    def _tell(self, _info: Told) -> None:
        from outlive.notebook import identity

        try:
            me = identity.named_by_notebook(self._me, self._ip.user_ns)
            if me != self._me and self._folder is not None:
                identity.write(me, self._folder)
            self._me = me
            self._previous.tell(self._ip, me)
        except Exception:
            _log.debug("No verdict is shown", exc_info=True)
        if self._previous.is_over():
            with contextlib.suppress(ValueError):
                self._ip.events.unregister("pre_run_cell", self._tell)


def _run_folder() -> Path | None:
    named = os.environ.get("OUTLIVE_RUN_DIR")
    return Path(named) if named and Path(named).is_dir() else None
