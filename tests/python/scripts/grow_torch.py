"""Keeps ever more activations: a forward pass in a loop whose outputs are never let go."""

import runpy
import sys

import torch

torch.set_num_threads(1)
layer = torch.nn.Linear(1024, 1024)
kept = []
while True:
    hidden = layer(torch.ones(1024, 1024))  # mark: hold
    kept.append(hidden)
    if len(sys.argv) > 1 and len(kept) == 20:
        runpy.run_path(sys.argv[1])
