"""A kernel started for a moment, as Jupyter would, to see whether Outlive is in it."""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
from dataclasses import dataclass
from typing import Any

_PATIENCE_SECONDS = 60
_QUESTION = """
import json as _json, os as _os
try:
    from outlive import _hook as _found
    _count = len(_found.functions())
except Exception:
    _count = 0
print(_json.dumps({
    "guarded": _count > 0,
    "run": _os.environ.get("OUTLIVE_RUN_DIR"),
    "extension": "outlive" in get_ipython().extension_manager.loaded,
}))
"""


@dataclass(frozen=True)
class Trial:
    """What was seen.

    Attributes:
        guarded: The guard is on inside.
        recorded: It has a run.
        extension: The IPython extension is loaded.
    """

    guarded: bool
    recorded: bool
    extension: bool


def trial() -> Trial:
    """Starts a kernel, asks it, and ends it.

    Raises:
        Exception: Whatever kept it from starting or answering.
    """
    with tempfile.TemporaryDirectory(prefix="outlive-doctor-") as folder:
        answer = asyncio.run(asyncio.wait_for(_answer(folder), _PATIENCE_SECONDS))
    return Trial(answer["guarded"], bool(answer["run"]), answer["extension"])


async def _answer(folder: str) -> dict[str, Any]:
    from jupyter_client import AsyncKernelManager  # type: ignore[import-not-found]
    from jupyter_client.provisioning import (  # type: ignore[import-not-found]
        KernelProvisionerFactory,
    )

    from outlive.jupyter.provisioner import NAME

    KernelProvisionerFactory.instance().default_provisioner_name = NAME
    manager = AsyncKernelManager(kernel_name="python3")
    # No run and no line of history of this is left.
    await manager.start_kernel(
        env={**os.environ, "OUTLIVE_HOME": folder},
        cwd=folder,
        extra_arguments=["--HistoryManager.enabled=False"],
        stderr=asyncio.subprocess.DEVNULL,
    )
    client = manager.client()
    client.start_channels()
    try:
        await client.wait_for_ready()
        return await _told(client)
    finally:
        client.stop_channels()
        await manager.shutdown_kernel(now=True)


async def _told(client: Any) -> dict[str, Any]:  # noqa: ANN401
    told: list[str] = []

    def hear(message: dict[str, Any]) -> None:
        told.append(message["content"].get("text", ""))

    await client.execute_interactive(
        _QUESTION, store_history=False, allow_stdin=False, output_hook=hear
    )
    answer: dict[str, Any] = json.loads("".join(told))
    return answer
