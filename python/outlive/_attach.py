"""The hook, put into an interpreter that runs already: a notebook's, or one started by others.

`outlive watch` makes the run and stays beside this process; it says which library to load. Loading
it is all that is left to do: the library then puts itself in front of `malloc` in everything that
is loaded, and in what comes later.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import signal
import subprocess
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from outlive import _command, _hook
from outlive._native import CommandError, NotGuarded

# Making a run takes milliseconds; a slow disk takes longer.
_PATIENCE = 10.0
_HOOK_LIBRARY = "OUTLIVE_HOOK_LIBRARY"
_lock = threading.Lock()
_attached: dict[str, Any] = {}


def is_attached() -> bool:
    """Whether this process got its hook while it ran."""
    return _attached.get("pid") == os.getpid()


def attach(limit: int | str | None = None) -> None:
    """Puts the hook into this process, unless it is there: black box and guard from now on.

    What is allocated by then is not recorded, but counts.

    Args:
        limit: As of `outlive run --limit`; the limits there are where it is not given.

    Raises:
        NotGuarded: This process cannot be guarded; the message says why.
        CommandError: The `outlive` program is missing or failed.
    """
    with _lock:
        if _hook.functions():
            return
        _refuse_recorded()
        told = _start_watching(limit)
        try:
            _load(told)
        except BaseException:
            _end_watching(told["pid"])
            raise
        _attached["pid"] = os.getpid()


def _refuse_recorded() -> None:
    """A process that only records has its hook, which cannot be asked to do more."""
    if hasattr(ctypes.CDLL(None), "outlive_python_namespace"):
        message = (
            "This process is recorded and not guarded\n"
            "hint: start it without `--no-guard`, or without `outlive run`"
        )
        raise NotGuarded(message)


def _start_watching(limit: int | str | None) -> dict[str, Any]:
    command = [str(_command.program()), "watch", str(os.getpid())]
    if limit is not None:
        command += ["--limit", str(limit)]
    # A session of its own: Ctrl-C and the end of a terminal are not for it.
    watching = subprocess.Popen(
        command,
        env=_with_own_hook(os.environ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        return _told_by(watching)
    except BaseException:
        # Its session has no other member than the process that goes on.
        with contextlib.suppress(OSError):
            os.killpg(watching.pid, signal.SIGTERM)
        raise


def _with_own_hook(variables: Mapping[str, str]) -> dict[str, str]:
    """The variables, with the library of this package where none is named.

    The program looks beside itself, where a package installed to a folder of its own is not.
    """
    own = Path(__file__).parent / "_lib" / "liboutlive_hook.so"
    return {**({_HOOK_LIBRARY: str(own)} if own.is_file() else {}), **variables}


def _told_by(watching: subprocess.Popen[bytes]) -> dict[str, Any]:
    assert watching.stdout is not None
    assert watching.stderr is not None
    with watching.stdout, watching.stderr:
        line = _first_line(watching.stdout.fileno())
        watching.wait()
        if not line:
            reason = _what_is_there(watching.stderr.fileno())
            raise CommandError(reason or "`outlive watch` gave no answer")
    told: dict[str, Any] = json.loads(line)
    return told


def _what_is_there(descriptor: int) -> str:
    """What can be read without waiting."""
    os.set_blocking(descriptor, False)
    try:
        return os.read(descriptor, 4096).decode("utf-8", "replace").strip()
    except BlockingIOError:
        return ""


def _first_line(descriptor: int) -> bytes:
    """What comes until the end of a line, or until patience ends."""
    until = time.monotonic() + _PATIENCE
    # Not `select`, which knows no descriptor above 1023.
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    text = b""
    while not text.endswith(b"\n"):
        left = until - time.monotonic()
        if left <= 0 or not poll.poll(left * 1000):
            return b""
        part = os.read(descriptor, 65536)
        if not part:
            return b""
        text += part
    return text


def _load(told: dict[str, Any]) -> None:
    before = {name: os.environ.get(name) for name in told["environment"]}
    # The library reads them when it is loaded, and so does every process started from now on.
    os.environ.update(told["environment"])
    try:
        ctypes.CDLL(told["hook"], mode=ctypes.RTLD_GLOBAL)
        is_guarded = bool(_hook.functions())
        reason = "another tool, or the program itself, stands in front of `malloc`"
    except OSError as error:
        is_guarded = False
        reason = str(error)
    except BaseException:
        _restore(before)
        raise
    if not is_guarded:
        _restore(before)
        raise NotGuarded(f"This process cannot be guarded: {reason}")


def _restore(before: dict[str, str | None]) -> None:
    for name, value in before.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def _end_watching(pid: int) -> None:
    # Gone already, it need not be ended.
    with contextlib.suppress(OSError):
        os.kill(pid, signal.SIGTERM)
