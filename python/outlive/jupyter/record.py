"""The record of a set-up: what was written and what was there before, so that it can be undone."""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from outlive import __version__
from outlive.jupyter.environment import Environment, UnsuitableError


@dataclass(frozen=True)
class Written:
    """One file.

    Attributes:
        path: Where it is; below the environment's folder if it can be.
        digest: Of what was written.
        before: What was there, as Base64; `None` where there was no file.
        mode: The permissions it had.
        keys: The way to our entry, where the file is not wholly ours.
        item: The item of the list there.
    """

    path: str
    digest: str
    before: str | None = None
    mode: int | None = None
    keys: list[str] | None = None
    item: str | None = None

    def was(self) -> bytes | None:
        """What was there before."""
        return None if self.before is None else base64.b64decode(self.before)


@dataclass
class Record:
    """A set-up.

    Attributes:
        files: What was written.
        folders: The folders that were made for it.
        outlive: By which version.
    """

    files: dict[str, Written] = field(default_factory=dict)
    folders: list[str] = field(default_factory=list)
    outlive: str = __version__

    def as_bytes(self) -> bytes:
        """As it is kept."""
        files = [asdict(written) for written in self.files.values()]
        whole = {"version": 1, "outlive": self.outlive, "folders": self.folders, "files": files}
        return (json.dumps(whole, indent=1) + "\n").encode()


def record_path(environment: Environment) -> Path:
    """Where the record is kept.

    Args:
        environment: Of which environment.
    """
    return environment.prefix / "share" / "outlive" / "jupyter-setup.json"


def read(path: Path) -> Record | None:
    """Reads a record.

    Args:
        path: Where it is.

    Returns:
        The record; `None` where there is none.

    Raises:
        OSError: It cannot be read.
        UnsuitableError: It is damaged, or of a later version.
    """
    try:
        whole: dict[str, Any] = json.loads(path.read_bytes())
        files = {found["path"]: Written(**found) for found in whole["files"]}
        return Record(files, list(whole["folders"]), str(whole["outlive"]))
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError) as error:
        raise UnsuitableError(
            f"The record of the set-up cannot be read: `{path}`\n"
            "hint: remove it, and run `outlive setup jupyter` again"
        ) from error


def digest(content: bytes) -> str:
    """What tells whether a file is still as it was written.

    Args:
        content: What is in it.
    """
    return hashlib.sha256(content).hexdigest()


def encoded(content: bytes | None) -> str | None:
    """A file's content as a record keeps it.

    Args:
        content: The content; `None` where there was no file.
    """
    return None if content is None else base64.b64encode(content).decode("ascii")
