"""One measured run of a program: processor time of it and its children, and its highest memory.

Imports nothing large: the highest memory that `wait4` tells is at least that of whoever started
the program.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple


class Outing(NamedTuple):
    """What a run took."""

    seconds: float
    processor: float
    peak: int


def measure(command: list[str], output: Path, **variables: str) -> Outing:
    """Runs a command whose output is removed before and after."""
    remove(output)
    start = time.perf_counter()
    child = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, **variables},
    )
    complaint = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - start
    if status:
        sys.exit(f"{' '.join(command)} ended with {status}:\n{complaint.decode()}")
    remove(output)
    return Outing(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)


def remove(output: Path) -> None:
    for path in [output, *output.parent.glob(f"{output.name}*")]:
        if path.is_dir():
            shutil.rmtree(path)
        elif path.exists():
            path.unlink()
