"""Changes to files: all of them or none."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Change:
    """What becomes of one file.

    Attributes:
        path: The file.
        before: What is in it; `None` where there is no file.
        after: What will be in it; `None` where there will be none.
        mode: Its permissions, where they are known; otherwise they stay, and new ones are 0644.
    """

    path: Path
    before: bytes | None
    after: bytes | None
    mode: int | None = None

    def apply(self) -> None:
        """Makes the change, in one step that can be seen.

        Raises:
            OSError: It could not be made.
        """
        if self.after is None:
            self.path.unlink()
        else:
            _replace(self.path, self.after, self.mode)

    def reversed(self) -> Change:
        """The change that takes this one back."""
        return Change(self.path, self.after, self.before, self.mode)


@dataclass
class Changes:
    """Changes that belong together, in order.

    Attributes:
        changes: The changes.
        folders: Folders to make before, each after the one it lies in.
        empty: Folders to remove afterwards if nothing is in them.
    """

    changes: list[Change] = field(default_factory=list)
    folders: list[Path] = field(default_factory=list)
    empty: list[Path] = field(default_factory=list)

    def apply(self) -> None:
        """Makes all changes, or none.

        Raises:
            OSError: One could not be made; those before it were taken back.
        """
        made: list[Change] = []
        folders: list[Path] = []
        try:
            for folder in self.folders:
                folder.mkdir()
                # Everybody who uses the environment reads it, whatever the umask of its owner.
                folder.chmod(0o755)
                folders.append(folder)
            for change in self.changes:
                change.apply()
                made.append(change)
        except BaseException:
            for change in reversed(made):
                with contextlib.suppress(OSError):
                    change.reversed().apply()
            remove_empty(folders)
            raise
        remove_empty(self.empty)


def contents(path: Path) -> bytes | None:
    """What is in a file; `None` where there is none.

    Args:
        path: The file.

    Raises:
        OSError: It cannot be read.
    """
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None


def missing_folders(paths: Iterable[Path]) -> list[Path]:
    """The folders that must be made for some files, outermost first.

    Args:
        paths: The files.
    """
    missing = {parent for path in paths for parent in path.parents if not parent.exists()}
    return sorted(missing, key=lambda folder: len(folder.parts))


def remove_empty(folders: Iterable[Path]) -> None:
    """Removes folders that have nothing in them, innermost first.

    Args:
        folders: The folders.
    """
    for folder in sorted(folders, key=lambda folder: -len(folder.parts)):
        with contextlib.suppress(OSError):
            folder.rmdir()


def _replace(path: Path, content: bytes, mode: int | None) -> None:
    # Where the file is a link into someone's collection of settings, the settings are changed.
    target = Path(os.path.realpath(path))
    if mode is None:
        mode = target.stat().st_mode & 0o7777 if target.exists() else 0o644
    descriptor, name = tempfile.mkstemp(prefix=".outlive-", dir=target.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        Path(name).chmod(mode)
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink()
        raise
