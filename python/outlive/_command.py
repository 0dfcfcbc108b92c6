"""The native `outlive` program: where it is, and what it answers."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from outlive._native import CommandError

# 0 and 1 are answers; see the exit codes in the reference.
_ANSWERED = (0, 1)


def program() -> Path:
    """Finds the `outlive` program that was installed with this package.

    Returns:
        Its path.

    Raises:
        CommandError: There is none, neither beside this package nor on the PATH.
    """
    folders = [sysconfig.get_path("scripts"), str(Path(sys.executable).parent)]
    # `pip install --user` and `--target` put programs beside the package's own folder.
    package = Path(__file__).resolve().parent
    folders += [str(parent / "bin") for parent in package.parents[:4]]
    for folder in folders:
        found = shutil.which("outlive", path=folder)
        if found is not None:
            return Path(found)
    found = shutil.which("outlive")
    if found is not None:
        return Path(found)
    message = "The `outlive` program is not installed\nhint: install the wheel again"
    raise CommandError(message)


def environment() -> dict[str, str]:
    """The variables for the program: it is not to be recorded as a part of this process's run."""
    of_this_run = ("LD_PRELOAD", "OUTLIVE_RUN_DIR", "OUTLIVE_BOX_SIZE")
    return {name: value for name, value in os.environ.items() if name not in of_this_run}


def why(run: str = "last") -> dict[str, Any]:
    """Explains how a run ended.

    Args:
        run: `last`, a run's id or the beginning of one, or the id of a process in it.

    Returns:
        What `outlive why --format json` prints: `verdict`, `first_death`, `memory`, `holders`
        and `processes` among others.

    Raises:
        CommandError: There is no such run, or it cannot be read.
    """
    command = [str(program()), "why", "--format", "json", run]
    finished = subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment()
    )
    if finished.returncode not in _ANSWERED:
        raise CommandError(finished.stderr.strip() or f"`outlive why` ended {finished.returncode}")
    try:
        answer: dict[str, Any] = json.loads(finished.stdout)
    except ValueError as error:
        # Exit code 1 without an answer: the message is on standard error.
        raise CommandError(finished.stderr.strip() or "`outlive why` gave no answer") from error
    return answer
