"""What `outlive why` says, asked from inside a kernel."""

from __future__ import annotations

import json
import subprocess
from typing import Any

from outlive._command import environment, program
from outlive._native import CommandError

_PATIENCE_SECONDS = 20


def facts(run: str) -> dict[str, Any]:
    """The verdict as data.

    Args:
        run: A run's folder or id.

    Raises:
        CommandError: There is no such run, or it cannot be read.
    """
    try:
        told: dict[str, Any] = json.loads(_asked(run, "--format", "json"))
    except ValueError as error:
        raise CommandError("`outlive why` gave no answer") from error
    return told


def text(run: str) -> str:
    """The verdict as a person reads it.

    Raises:
        CommandError: There is no such run, or it cannot be read.
    """
    return _asked(run).rstrip()


def _asked(run: str, *options: str) -> str:
    try:
        finished = subprocess.run(
            [str(program()), "why", *options, "--", run],
            capture_output=True,
            text=True,
            check=False,
            env={**environment(), "NO_COLOR": "1"},
            timeout=_PATIENCE_SECONDS,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise CommandError(f"`outlive why` could not be asked: {error}") from error
    if finished.stdout.strip():
        return finished.stdout
    raise CommandError(finished.stderr.strip() or f"`outlive why` ended {finished.returncode}")
