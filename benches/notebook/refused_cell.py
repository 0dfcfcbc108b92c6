"""How long a refused cell takes to return: from the request to the reply, block and traceback.

Prints one JSON object for each case, in seconds. `bare` is the same cell in a kernel without
Outlive whose request the kernel of the machine refuses by itself: what IPython's traceback costs.
"""

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests/python"))

from support.kernels import kernel
from support.lab import Lab

LIMIT = "1GiB"
NUMPY = "import numpy, time\nkept = numpy.ones(30_000_000)"
CASES = {
    "numpy": (NUMPY, "began = time.monotonic(); numpy.ones({elements})"),
    "numpy, 10,000 variables": (
        NUMPY + "\nfor n in range(10_000): globals()[f'v{n}'] = [n] * 20",
        "began = time.monotonic(); numpy.ones({elements})",
    ),
    "torch make_grid": (
        "import time, torch\nfrom torchvision.utils import make_grid\n"
        "images = torch.rand(9_000, 3, 64, 64)",
        "began = time.monotonic(); make_grid(images, nrow=64, normalize=True)",
    ),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=10)
    rounds = parser.parse_args().rounds
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, (before, cell) in CASES.items():
            with kernel(Lab(Path(folder)), limit=LIMIT) as guarded:
                found[name] = times(guarded, before, cell.format(elements=1_000_000_000), rounds)
        with kernel(Lab(Path(folder)), extension=False) as bare:
            before, cell = CASES["numpy"]
            found["bare"] = times(bare, before, cell.format(elements=1 << 46), rounds)
    print(json.dumps(found))


def times(running, before, cell, rounds):
    assert running.run(before).status == "ok"
    seconds = []
    for _ in range(rounds):
        assert running.run(cell).status == "error", cell
        # One clock for all processes of a machine.
        ended = time.monotonic()
        seconds.append(ended - float(running.value("began")))
    return seconds


main()
