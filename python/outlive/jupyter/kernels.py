"""The kernels that this server process started under Outlive: their runs and last verdicts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

# A server that lives for months starts many kernels; those that died long ago can be forgotten.
_MOST = 1000

_kernels: dict[str, Kernel] = {}


@dataclass
class Kernel:
    """What is known of one kernel.

    Attributes:
        directory: Folder of its present run; none once that ended, or where it is not recorded.
        peak: The highest use that was seen in that run, in bytes.
        verdict: Why its last run ended, if it did and nobody had asked for it.
    """

    directory: Path | None = None
    peak: int = 0
    verdict: dict[str, Any] | None = None


def find(kernel_id: str) -> Kernel | None:
    """A kernel, if this process started it.

    Args:
        kernel_id: Jupyter's name for it.
    """
    return _kernels.get(kernel_id)


def started(kernel_id: str, directory: Path | None) -> None:
    """Notes that a kernel runs, or runs again.

    Args:
        kernel_id: Jupyter's name for it.
        directory: Folder of its run.
    """
    kernel = _kernels.pop(kernel_id, None) or Kernel()
    kernel.directory, kernel.peak = directory, 0
    _kernels[kernel_id] = kernel
    while len(_kernels) > _MOST:
        del _kernels[next(iter(_kernels))]


def ended(kernel_id: str, directory: Path | None) -> None:
    """Notes that a run ended; a later one of the same kernel stays.

    Args:
        kernel_id: Jupyter's name for it.
        directory: Folder of the run that ended.
    """
    kernel = _kernels.get(kernel_id)
    if kernel is not None and kernel.directory == directory:
        kernel.directory = None


def judged(kernel_id: str, verdict: dict[str, Any]) -> None:
    """Keeps why a kernel died.

    Args:
        kernel_id: Jupyter's name for it.
        verdict: The verdict.
    """
    _kernels.setdefault(kernel_id, Kernel()).verdict = verdict
