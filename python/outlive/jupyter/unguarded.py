"""Libraries in running kernels that the hook could not be put in front of.

It matters for kernels that loaded the hook themselves. The hook writes down what it had to leave
alone, in the notes of the black box.
"""

from __future__ import annotations

from pathlib import Path

import outlive
from outlive import _store
from outlive.notebook import identity

_MARK = "it is not guarded"
_RUNS_LOOKED_AT = 50


def libraries() -> list[str]:
    """What was noted in the kernels that run now, one line each."""
    found = []
    for folder in _store.newest(_store.folder(), _RUNS_LOOKED_AT):
        kernel = identity.read(folder)
        if kernel is not None and Path(f"/proc/{kernel.pid}").exists():
            found += [f"{note} (pid {kernel.pid})" for note in _notes(folder, kernel.pid)]
    return found


def _notes(folder: Path, pid: int) -> list[str]:
    notes = []
    for box in sorted(folder.glob(f"{pid}-*.box")):
        try:
            notes += [note for note in outlive.read(box).notes if _MARK in note]
        except (OSError, outlive.OutliveError):
            continue
    return notes
