"""What ended this kernel before: told above the first cell that runs after the restart.

That is the one place that every front end shows. It is looked up in a thread, so that the kernel's
start does not wait for it, and told once: `told` in the run's folder says so.
"""

from __future__ import annotations

import contextlib
import json
import logging
import threading
import time
from pathlib import Path
from typing import Any, NamedTuple

from outlive import _store
from outlive.notebook import identity, verdict
from outlive.notebook.identity import Identity
from outlive.notebook.shell import Shell

_log = logging.getLogger("outlive")
TOLD = "told"
_RUNS_LOOKED_AT = 50
_MOST_NOTEBOOKS = 3
_NOT_OLDER_SECONDS = 3600
# How long the first cell waits, and how long a run may take to write down its end.
_FIRST_CELL_WAITS = 1.0
_END_WAITS = 2.0
_LOOKS_EVERY = 0.02
# Ends that someone wanted; see docs/verdicts.md.
_WANTED_SIGNALS = (1, 2, 15)
_WANTED = ("finished", "running", "interrupted", "terminated", "hung_up", "hang")


class _Death(NamedTuple):
    kernel: Identity
    folder: Path
    facts: dict[str, Any]


class PostMortem:
    """The verdict about the kernel's earlier process, being looked up."""

    def __init__(self, me: Identity, own_folder: Path | None) -> None:
        self._me = me
        self._own_folder = own_folder
        self._deaths: list[_Death] = []
        self._thread = threading.Thread(
            target=self._look_up, name="outlive-post-mortem", daemon=True
        )

    def start(self) -> None:
        """Begins to look."""
        with contextlib.suppress(RuntimeError):
            self._thread.start()

    def run(self) -> str | None:
        """The folder of the run that ended badly, also after it was told."""
        self._thread.join(_FIRST_CELL_WAITS)
        found = self._death()
        return str(found.folder) if found is not None else None

    def is_over(self) -> bool:
        """Whether there is nothing more to wait for."""
        return not self._thread.is_alive()

    def tell(self, ip: Shell, me: Identity) -> None:
        """Shows the verdict, if there is one.

        Args:
            ip: The shell.
            me: This kernel, with its notebook if that has become known.
        """
        self._me = me
        self._thread.join(_FIRST_CELL_WAITS)
        found = self._death()
        if found is None or (found.folder / TOLD).exists():
            return
        from outlive.notebook import verdict_block

        bundle = verdict_block.block(found.facts, found.folder).bundle()
        # First the mark: a second notebook on the same kernel is not told again.
        with contextlib.suppress(OSError):
            (found.folder / TOLD).touch()
        ip.display_pub.publish(bundle)

    def _death(self) -> _Death | None:
        return next((one for one in self._deaths if self._me.is_same_kernel(one.kernel)), None)

    def _look_up(self) -> None:
        try:
            for kernel, folder in _previous(self._me, self._own_folder):
                if _ended_badly(folder):
                    facts = verdict.facts(str(folder))
                    if facts["verdict"]["id"] not in _WANTED:
                        self._deaths.append(_Death(kernel, folder, facts))
        except Exception:
            _log.debug("No verdict about the kernel's earlier process", exc_info=True)


def _previous(me: Identity, own_folder: Path | None) -> list[tuple[Identity, Path]]:
    """Runs that were this kernel, or may turn out to have been: of each notebook the newest."""
    found: dict[str | None, tuple[Identity, Path]] = {}
    store = own_folder.parent if own_folder else _store.folder()
    for folder in _store.newest(store, _RUNS_LOOKED_AT):
        if own_folder is not None and folder.name == own_folder.name:
            continue
        earlier = identity.read(folder)
        if earlier is None or earlier.pid == me.pid or not me.may_be_same_kernel(earlier):
            continue
        # The kernel of another notebook that is open: nothing ended.
        if not Path(f"/proc/{earlier.pid}").exists():
            found.setdefault(earlier.session, (earlier, folder))
    return list(found.values())[:_MOST_NOTEBOOKS]


def _ended_badly(folder: Path) -> bool:
    """Whether a run ended lately, and as nobody wanted it to."""
    end = time.monotonic() + _END_WAITS
    while True:
        told = _run_facts(folder)
        ended = told.get("ended_at")
        if ended or time.monotonic() > end:
            break
        time.sleep(_LOOKS_EVERY)
    if not ended:
        # The supervisor went too. Whether that was lately, the file says.
        ended = (folder / "run.json").stat().st_mtime_ns
    if time.time_ns() - ended > _NOT_OLDER_SECONDS * 10**9:
        return False
    status = _status(told)
    if status.get("kind") == "exited":
        return bool(status.get("number"))
    return status.get("number") not in _WANTED_SIGNALS


def _run_facts(folder: Path) -> dict[str, Any]:
    with contextlib.suppress(OSError, ValueError):
        told = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        if isinstance(told, dict):
            return told
    return {}


def _status(told: dict[str, Any]) -> dict[str, Any]:
    """The status of the process that was started."""
    for process in told.get("processes", ()):
        if process.get("id") == told.get("root"):
            return process.get("status") or {}
    return {}
