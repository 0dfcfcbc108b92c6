"""Shows a whole data set of colour images in one normalised grid, which copies it twice."""
# cause: oversized_grid
# needs: torch, torchvision
# smallest: 1GiB
# bare: killed
# ends: refusal

import torch
from _stage import LIMIT, play
from torchvision.utils import make_grid


def work():
    count = int(0.45 * LIMIT) // (3 * 64 * 64 * 4)
    images = torch.rand(count, 3, 64, 64)
    grid = make_grid(images, nrow=64, normalize=True)  # guilty
    print(grid.shape)


def small_job():
    grid = make_grid(torch.ones(16, 3, 64, 64), nrow=4)
    assert grid.shape == (3, 266, 266)


play(work, small_job, (MemoryError, RuntimeError))
