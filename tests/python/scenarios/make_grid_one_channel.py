"""Shows grey images in one grid: three channels are made of the one, and then the grid of those."""
# cause: oversized_grid
# needs: torch, torchvision
# smallest: 1GiB
# bare: killed
# ends: refusal

import torch
from _stage import LIMIT, play
from torchvision.utils import make_grid


def work():
    digits = torch.rand(LIMIT // 4 // (64 * 64 * 4), 1, 64, 64)
    grid = make_grid(digits, nrow=100)  # guilty
    print(grid.shape)


def small_job():
    grid = make_grid(torch.ones(9, 1, 64, 64), nrow=3)
    assert grid.shape == (3, 200, 200)


play(work, small_job, (MemoryError, RuntimeError))
