"""Real kernels to run cells in, started with and without Outlive."""

import os
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass, field

from support import paths
from support.lab import PATIENCE_SECONDS


@dataclass
class Ran:
    """What a cell gave back."""

    status: str
    text: str = ""
    result: str = ""
    error: str = ""
    traceback: str = ""
    blocks: list = field(default_factory=list)
    seconds: float = 0.0

    @property
    def block(self):
        """The only block."""
        [bundle] = self.blocks
        return bundle


class Kernel:
    """A kernel that runs, and a client of it."""

    def __init__(self, manager, client):
        self.manager = manager
        self.client = client

    def run(self, code, **options):
        """Runs a cell and waits for its end."""
        ran = Ran("")
        began = time.monotonic()
        reply = self.client.execute_interactive(
            code,
            output_hook=lambda message: _take(ran, message),
            timeout=PATIENCE_SECONDS,
            allow_stdin=False,
            **options,
        )
        ran.seconds = time.monotonic() - began
        ran.status = reply["content"]["status"]
        return ran

    def value(self, code):
        """What an expression is, as Python writes it."""
        ran = self.run(f"print(repr(({code})))")
        assert ran.status == "ok", ran.traceback
        return ran.text.strip()


def _take(ran, message):
    kind, content = message["msg_type"], message["content"]
    if kind == "stream":
        ran.text += content["text"]
    elif kind == "display_data":
        ran.blocks.append(content["data"])
    elif kind == "execute_result":
        ran.result += content["data"]["text/plain"]
    elif kind == "error":
        ran.error = f"{content['ename']}: {content['evalue']}"
        ran.traceback = "\n".join(content["traceback"])


def command(limit=None, flags=(), python=sys.executable):
    """The words that start a kernel, under `outlive run` where there is a limit or a flag."""
    words = [python, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    if limit is None and not flags:
        return words
    limits = [] if limit is None else [f"--limit={limit}"]
    return [str(paths.program()), "run", "--quiet", *limits, *flags, "--", *words]


@contextmanager
def kernel(
    lab, limit=None, extension=True, environment=(), connection_file=None, flags=(), **options
):
    """A kernel in the lab's folder, ended with the block.

    Args:
        lab: Where it runs.
        limit: Its budget; without one it is a plain kernel.
        extension: Whether `outlive` is loaded by configuration, as `outlive setup` does it.
        environment: More variables.
        connection_file: Its name; a kernel that starts again has the same.
        flags: More words for `outlive run`.
        **options: For `subprocess`.
    """
    from jupyter_client import KernelManager
    from jupyter_client.kernelspec import KernelSpec

    manager = KernelManager()
    words = command(limit, flags)
    if extension:
        words.append("--InteractiveShellApp.extensions=outlive")
    manager._kernel_spec = KernelSpec(argv=words, language="python", display_name="test")
    manager.connection_file = str(
        connection_file or lab.folder / f"kernel-{os.urandom(4).hex()}.json"
    )
    ours = {"IPYTHONDIR": str(lab.folder / "ipython"), "JUPYTER_RUNTIME_DIR": str(lab.folder)}
    manager.start_kernel(
        env={**lab.plain_environment(), **ours, **dict(environment)},
        cwd=str(lab.folder),
        **options,
    )
    client = manager.blocking_client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=PATIENCE_SECONDS)
        yield Kernel(manager, client)
    finally:
        client.stop_channels()
        if manager.is_alive():
            manager.shutdown_kernel(now=True)
        manager.cleanup_resources()
