"""Which kernel this is: what `kernel.json` of the run's folder says.

After a restart it tells which of the runs that are kept was the same kernel before.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import re
import sys
import time
from pathlib import Path
from typing import NamedTuple

from outlive.notebook.shell import Shell

FILE_NAME = "kernel.json"
_CONNECTION = re.compile(r"kernel-(.+)\.json")


class Identity(NamedTuple):
    """A kernel, as far as it can be told from another one.

    Attributes:
        kernel_id: The server's name for it.
        connection_file: The file by which front ends find it; a restarted kernel has the same.
        session: The notebook, where the front end names it.
        cwd: The folder it started in.
        pid: Its process.
        parent: The server or the front end that started it.
        started: Unix seconds.
    """

    kernel_id: str | None
    connection_file: str | None
    session: str | None
    cwd: str
    pid: int
    parent: int
    started: float

    def is_same_kernel(self, earlier: Identity) -> bool:
        """Whether another process was this kernel before."""
        if self.connection_file and self.connection_file == earlier.connection_file:
            return True
        if self.session or earlier.session:
            return self.session == earlier.session
        return self._is_beside(earlier)

    def may_be_same_kernel(self, earlier: Identity) -> bool:
        """The same, while this kernel's notebook may be told later."""
        return self.is_same_kernel(earlier) or (self.session is None and self._is_beside(earlier))

    def _is_beside(self, earlier: Identity) -> bool:
        # Whoever uses `jupyter_client` starts a kernel again with the same connection file, so what
        # it starts with another one is another kernel.
        others = "JPY_PARENT_PID" not in os.environ
        return others and (self.parent, self.cwd) == (earlier.parent, earlier.cwd)


def of_this_process(ip: Shell) -> Identity:
    """The kernel that a shell belongs to."""
    file = _connection_file(ip)
    found = _CONNECTION.fullmatch(Path(file).name) if file else None
    return Identity(
        found[1] if found else None,
        file,
        os.environ.get("JPY_SESSION_NAME") or None,
        str(Path.cwd()),
        os.getpid(),
        _parent(),
        time.time(),
    )


def named_by_notebook(me: Identity, namespace: dict[str, object]) -> Identity:
    """The same kernel with its notebook, which VS Code names in a variable before any cell."""
    name = namespace.get("__vsc_ipynb_file__")
    return me._replace(session=name) if me.session is None and type(name) is str else me


def write(identity: Identity, folder: Path) -> None:
    """Writes `kernel.json`, whole or not at all."""
    temporary = folder / f"{FILE_NAME}.{os.getpid()}"
    with contextlib.suppress(OSError):
        temporary.write_text(json.dumps(identity._asdict()), encoding="utf-8")
        temporary.replace(folder / FILE_NAME)


def read(folder: Path) -> Identity | None:
    """The kernel of a run; nothing where it was none or the file cannot be read."""
    try:
        told = json.loads((folder / FILE_NAME).read_text(encoding="utf-8"))
        return Identity(*(told.get(name) for name in Identity._fields))
    except (OSError, ValueError, AttributeError):
        return None


def _connection_file(ip: Shell) -> str | None:
    if "ipykernel" not in sys.modules or getattr(ip, "kernel", None) is None:
        return None
    with contextlib.suppress(Exception):
        return str(importlib.import_module("ipykernel.connect").get_connection_file())
    with contextlib.suppress(Exception):
        return str(Path(ip.config["IPKernelApp"]["connection_file"]).absolute())
    return None


def _parent() -> int:
    # Under `outlive run` the parent is the supervisor, which is another one each time.
    with contextlib.suppress(ValueError):
        return int(os.environ.get("JPY_PARENT_PID", ""))
    return os.getppid()
