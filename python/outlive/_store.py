"""The folder where runs are kept; the rules are those of `outlive` itself."""

from __future__ import annotations

import os
from pathlib import Path


def folder() -> Path | None:
    """Where it is, if the environment names a place."""
    home = os.environ.get("OUTLIVE_HOME")
    state = os.environ.get("XDG_STATE_HOME", "")
    if home:
        return Path(home) / "runs"
    if state.startswith("/"):
        return Path(state) / "outlive" / "runs"
    home = os.environ.get("HOME")
    return Path(home) / ".local/state/outlive/runs" if home else None


def newest(store: Path | None, count: int) -> list[Path]:
    """The newest runs of a store, newest first; none where it cannot be read."""
    if store is None:
        return []
    try:
        names = [entry.name for entry in os.scandir(store) if entry.is_dir()]
    except OSError:
        return []
    # A run is named for the moment it began.
    return [store / name for name in sorted(names, reverse=True)[:count]]
