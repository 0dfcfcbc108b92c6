"""What front ends ask the server: use and budget of a kernel, who holds memory, the verdict."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

from jupyter_server.auth.decorator import authorized  # type: ignore[import-not-found]
from jupyter_server.base.handlers import APIHandler  # type: ignore[import-not-found]
from tornado import web  # type: ignore[import-not-found]

from outlive import _native
from outlive.jupyter import kernels, verdict
from outlive.jupyter.kernels import Kernel

# Where the server's settings keep the pulse.
PULSE = "outlive_pulse"
# Below this share of the budget, headroom is short.
_SHORT = 0.1
_MOST_HOLDERS = 10
_KEPT_SECONDS = 1.0


class _KernelHandler(APIHandler):  # type: ignore[misc]
    """What all have in common: only for who may see kernels, and no sign of a person at work."""

    auth_resource = "kernels"
    _track_activity = False

    def answer(self, value: dict[str, Any] | None) -> None:
        """Sends an answer."""
        self.set_header("Cache-Control", "no-store")
        self.finish(json.dumps(value))


class StatusHandler(_KernelHandler):
    """Use and budget of a kernel."""

    @web.authenticated  # type: ignore[untyped-decorator]
    @authorized  # type: ignore[untyped-decorator]
    def get(self, kernel_id: str) -> None:
        """Answers from the ledger, 64 KiB of shared memory: no process is asked."""
        self.settings[PULSE].asked(kernel_id)
        self.answer(status(kernels.find(kernel_id)))


class HoldersHandler(_KernelHandler):
    """Who holds memory in a kernel."""

    @web.authenticated  # type: ignore[untyped-decorator]
    @authorized  # type: ignore[untyped-decorator]
    async def get(self, kernel_id: str) -> None:
        """Answers from the black boxes, as `outlive why` reads them."""
        kernel = kernels.find(kernel_id)
        directory = kernel.directory if kernel else None
        self.answer({"holders": [] if directory is None else await _holders(directory)})


class VerdictHandler(_KernelHandler):
    """Why a kernel died last."""

    @web.authenticated  # type: ignore[untyped-decorator]
    @authorized  # type: ignore[untyped-decorator]
    def get(self, kernel_id: str) -> None:
        """Answers what was found when it died."""
        kernel = kernels.find(kernel_id)
        # Most kernels have none, which is no error: a browser would write one into its console.
        self.answer(None if kernel is None else kernel.verdict)


HANDLERS = {"status": StatusHandler, "holders": HoldersHandler, "verdict": VerdictHandler}


def status(kernel: Kernel | None) -> dict[str, Any]:
    """What is known of a kernel's memory, in bytes.

    Args:
        kernel: The kernel, if it is known at all.
    """
    ledger = None
    if kernel is not None and kernel.directory is not None:
        ledger = _native.ledger(str(kernel.directory))
    if kernel is None or kernel.directory is None or ledger is None:
        return {"guarded": False}
    kernel.peak = max(kernel.peak, ledger["use"])
    return {
        "guarded": True,
        "use": ledger["use"],
        "budget": ledger["budget"],
        "headroom": ledger["headroom"],
        "source": ledger["source"],
        "peak": kernel.peak,
        "short": ledger["headroom"] < _SHORT * ledger["budget"],
        "run": kernel.directory.name,
    }


# By folder: when it was asked, and the answer, which several windows may wait for.
_asked: dict[Path, tuple[float, asyncio.Future[list[dict[str, Any]]]]] = {}


async def _holders(directory: Path) -> list[dict[str, Any]]:
    now = time.monotonic()
    for old in [key for key, (asked, _) in _asked.items() if asked < now - _KEPT_SECONDS]:
        del _asked[old]
    if directory not in _asked:
        _asked[directory] = (now, asyncio.ensure_future(_read_holders(directory)))
    return await asyncio.shield(_asked[directory][1])


async def _read_holders(directory: Path) -> list[dict[str, Any]]:
    try:
        answer = await verdict.explanation(directory)
    except (OSError, ValueError, asyncio.TimeoutError) as error:
        verdict.log.debug("No holders of %s: %s", directory, error)
        return []
    return [
        {
            "bytes": holder["live_bytes"],
            "place": verdict.place_text(holder),
            "text": holder.get("text"),
        }
        for holder in (answer.get("holders") or [])[:_MOST_HOLDERS]
        if holder["live_bytes"] > 0
    ]
