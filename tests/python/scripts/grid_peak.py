"""Prints how many bytes a call of `make_grid` or `save_image` took at its peak, and its result's.

Usage: grid_peak.py MODULE CASE
"""

import importlib
import io
import json
import re
import sys

import numpy
import torch

# As in the benchmark that is told of; the smallest of blocks is a share of it.
SIDE, COUNT = 256, 96
module = importlib.import_module(sys.argv[1])


class Sink(io.RawIOBase):
    """Takes what is written and keeps nothing of it."""

    def write(self, data):
        return len(data)


def status(field):
    text = open("/proc/self/status").read()
    return int(re.search(rf"{field}:\s+(\d+) kB", text)[1]) << 10


def batch(channels):
    return torch.rand(COUNT, channels, SIDE, SIDE)


def images(channels):
    return [image.clone() for image in batch(channels)]


def stream(channels):
    """Each image exists only while it is looked at."""
    return (torch.rand(channels, SIDE, SIDE) for _ in range(COUNT))


def calculated(image):
    """An image that would keep several more, were its gradients kept."""
    weight = torch.ones(3, 1, 1, requires_grad=True)
    return (image * weight).sin().mul(weight).exp()


def save(pictures, **arguments):
    module.save_image(pictures, Sink(), format="png", **arguments)


GRID = module.make_grid
CASES = {
    "batch": (GRID, lambda: batch(3), {}),
    "channels last": (GRID, lambda: batch(3).to(memory_format=torch.channels_last), {}),
    "normalize": (GRID, lambda: batch(3), {"normalize": True}),
    "channels last normalize": (
        GRID,
        lambda: batch(3).to(memory_format=torch.channels_last),
        {"normalize": True},
    ),
    "scale each": (GRID, lambda: batch(3), {"normalize": True, "scale_each": True}),
    "grey": (GRID, lambda: batch(1), {}),
    "grey normalize": (GRID, lambda: batch(1), {"normalize": True}),
    "list": (GRID, lambda: images(3), {}),
    "list normalize": (GRID, lambda: images(3), {"normalize": True}),
    "grey list": (GRID, lambda: images(1), {"normalize": True}),
    "both zeros": (GRID, lambda: batch(1).round_().sub_(1).neg_(), {"normalize": True}),
    "single normalize": (GRID, lambda: torch.rand(3, 4096, 4096), {"normalize": True}),
    "single grey list": (GRID, lambda: [torch.rand(1, 4096, 4096)], {"normalize": True}),
    "half": (GRID, lambda: torch.rand(2 * COUNT, 3, SIDE, SIDE).half(), {"normalize": True}),
    "bytes": (GRID, lambda: batch(3).mul_(255).byte().repeat(4, 1, 1, 1), {}),
    "list scale each": (GRID, lambda: images(3), {"normalize": True, "scale_each": True}),
    "long columns": (GRID, lambda: images(3), {"normalize": True, "nrow": numpy.int64(8)}),
    "single array": (GRID, lambda: torch.rand(3, 4096, 4096).numpy(), {"normalize": True}),
    "generator of graphs": (GRID, lambda: map(calculated, stream(3)), {}),
    "generator": (GRID, lambda: stream(3), {}),
    "generator normalize": (GRID, lambda: stream(3), {"normalize": True}),
    "array": (GRID, lambda: batch(3).numpy(), {}),
    "array normalize": (GRID, lambda: batch(1).numpy(), {"normalize": True}),
    "save": (save, lambda: batch(3), {"normalize": True}),
    "save grey list": (save, lambda: images(1), {"normalize": True}),
}

function, make, arguments = CASES[sys.argv[2]]
if "array" in sys.argv[2]:
    function(torch.rand(2, 3, 8, 8).numpy(), **arguments)
else:
    # What the first call loads is no part of the memory of a grid.
    function(torch.rand(2, 3, 8, 8), **arguments)
    function([torch.rand(3, 64, 64)] * 64, **arguments)
given = make()
with open("/proc/self/clear_refs", "w") as control:
    control.write("5")
before = status("VmRSS")
result = function(given, **arguments)
extra = status("VmHWM") - before
size = 0 if result is None else result.nbytes
print(json.dumps({"extra": extra, "result": size}))
