"""Keeps a grid of every batch, to look at them later."""
# cause: results_kept_in_loop
# needs: torch, torchvision
# smallest: 1GiB
# bare: killed
# ends: either

import torch
from _stage import LIMIT, play
from torchvision.utils import make_grid


def work():
    batch = torch.rand(64, 3, 128, 128)
    grids = []
    for _ in range(2 * LIMIT // batch.nbytes):
        grids.append(make_grid(batch, nrow=8))  # guilty


def small_job():
    grids = [make_grid(torch.ones(4, 3, 32, 32)) for _ in range(3)]
    assert torch.stack(grids).shape == (3, 3, 36, 138)


play(work, small_job, (MemoryError, RuntimeError))
