"""What the status bar costs the server: processor time of the requests that a page makes.

Asks once a second's worth of requests as fast as the server answers, and divides. Prints the
share of a processor at one request a second (a cell runs), as JSON.
"""

import argparse
import asyncio
import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests/python"))

from support.environment import Environment
from support.server import Server

REQUESTS = 500


async def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    shares = []
    with tempfile.TemporaryDirectory() as folder:
        environment = Environment(Path(folder) / "env")
        assert environment.set_up().returncode == 0
        with Server(environment) as server:
            kernel_id = server.start_kernel()
            async with server.kernel(kernel_id) as notebook:
                await notebook.run("kept = bytearray(100 << 20)")
            path = f"outlive/kernels/{kernel_id}/status"
            assert server.ask(path)[1]["guarded"]
            for _ in range(rounds):
                before = processor_seconds(server.process.pid)
                for _ in range(REQUESTS):
                    server.ask(path)
                shares.append((processor_seconds(server.process.pid) - before) / REQUESTS)
    print(json.dumps({"server": shares}))


def processor_seconds(pid):
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / 100


asyncio.run(main())
