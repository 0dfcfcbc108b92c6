"""Measures `outlive.make_grid` beside torchvision's: time in turns in one process, and peaks.

Prints, as its last line, values by name as JSON.
"""

import argparse
import json
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path

import torch
from torchvision.utils import make_grid

import outlive

COUNT, SIDE = 256, 256
PEAK = Path(__file__).parents[2] / "tests/python/scripts/grid_peak.py"
# How the figures call it, and how the script that measures peaks does.
PEAKS = {
    "3 channels": "batch",
    "1 channel": "grey",
    "list": "list",
    "normalize": "normalize",
    "list, 1 channel, normalize": "grey list",
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    values = defaultdict(list)
    for threads in (1, 2):
        torch.set_num_threads(threads)
        for name, images, arguments in cases():
            # The first calls load code and make the pools of threads.
            for _ in range(rounds + 1):
                theirs = seconds(make_grid, images, arguments)
                ours = seconds(outlive.make_grid, images, arguments)
                values[f"make_grid {name}, time over torchvision, {threads} threads"].append(
                    ours / theirs
                )
    values = {name: ratios[1:] for name, ratios in values.items()}
    for name, case in PEAKS.items():
        for told, module in (("", "outlive"), ("torchvision ", "torchvision.utils")):
            of = [peak(module, case) for _ in range(min(rounds, 3))]
            values[f"{told}make_grid {name}, memory over result"] = of
    print(json.dumps(values))


def cases():
    for channels, told in ((3, "3 channels"), (1, "1 channel")):
        batch = torch.rand(COUNT, channels, SIDE, SIDE)
        images = [image.clone() for image in batch]
        yield told, batch, {}
        yield f"list, {told}", images, {}
        yield f"normalize, {told}", batch, {"normalize": True}
        yield f"list, normalize, {told}", images, {"normalize": True}


def seconds(function, images, arguments):
    """Of one call; the result is freed outside the time."""
    start = time.perf_counter()
    result = function(images, **arguments)
    took = time.perf_counter() - start
    del result
    return took


def peak(module, case):
    command = [sys.executable, str(PEAK), module, case]
    facts = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    return facts["extra"] / facts["result"]


if __name__ == "__main__":
    main()
