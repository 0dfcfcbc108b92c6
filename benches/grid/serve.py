"""`outlive grid --serve` on a folder of 100,000 files: time to list it, and to the first tile.

Prints, as its last line, values by name as JSON.
"""

from __future__ import annotations

import argparse
import json
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections import defaultdict
from pathlib import Path

COUNT, QUALITY = 100_000, 95
HERE = Path(__file__).parent


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--outlive", required=True)
    parser.add_argument("--folder", type=Path, required=True)
    options = parser.parse_args()
    folder = options.folder / f"pictures-500x375-{QUALITY}-{COUNT}"
    words = [folder, COUNT, 500, 375, QUALITY]
    subprocess.run([sys.executable, HERE / "pictures.py", *map(str, words)], check=True)
    values: defaultdict[str, list[float]] = defaultdict(list)
    for _ in range(options.rounds + 1):
        for name, value in outing(options.outlive, folder).items():
            values[name].append(value)
    # The first listing fills the system's cache of names.
    print(json.dumps({name: of[1:] for name, of in values.items()}))


def outing(outlive: str, folder: Path) -> dict[str, float]:
    command = [outlive, "grid", str(folder), "--serve"]
    start = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        address = re.search(r"http://\S+/", server.stdout.readline())[0]
        listed = time.perf_counter() - start
        # The page asks for these before any tile.
        facts = get(address + "grid.js").decode()
        width = int(re.search(r'"?width"?:\s*(\d+)', facts)[1])
        height = int(re.search(r'"?height"?:\s*(\d+)', facts)[1])
        level = (max(width, height) - 1).bit_length()
        start = time.perf_counter()
        tile = get(f"{address}grid_files/{level}/0_0.jpg")
        first = time.perf_counter() - start
        assert tile.startswith(b"\xff\xd8"), tile[:20]
        start = time.perf_counter()
        get(f"{address}grid_files/{level - 6}/0_0.jpg")
        far = time.perf_counter() - start
        status = Path(f"/proc/{server.pid}/status").read_text()
        peak = int(re.search(r"VmHWM:\s+(\d+)", status)[1]) << 10
        server.send_signal(signal.SIGINT)
    return {
        "listing of 100000 files": listed,
        "first tile of 100000 files": first,
        "first tile from far away": far,
        "server, peak": peak,
    }


def get(address: str) -> bytes:
    with urllib.request.urlopen(address, timeout=30) as answer:
        return answer.read()


if __name__ == "__main__":
    main()
