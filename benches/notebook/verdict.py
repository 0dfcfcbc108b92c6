"""How soon the verdict on a dead kernel is on the server's event stream, where a page hears it.

Prints seconds from the kill to the event, as JSON.
"""

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests/python"))

from support.environment import Environment
from support.server import Server


async def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=10)
    rounds = parser.parse_args().rounds
    seconds = []
    with tempfile.TemporaryDirectory() as folder:
        environment = Environment(Path(folder) / "env")
        assert environment.set_up().returncode == 0
        with Server(environment) as server:
            for _ in range(rounds):
                seconds.append(await one(server))
    print(json.dumps({"seconds": seconds}))


async def one(server):
    kernel_id = server.start_kernel()
    async with server.events() as events, server.kernel(kernel_id) as notebook:
        pid = int(await notebook.run("import os; kept = bytearray(100 << 20); print(os.getpid())"))
        killed = time.monotonic()
        os.kill(pid, 9)
        await events.verdict()
        passed = time.monotonic() - killed
    server.ask(f"api/kernels/{kernel_id}", "DELETE")
    return passed


asyncio.run(main())
