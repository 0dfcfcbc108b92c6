"""Makes one large square picture in double precision."""
# cause: oversized_tensor
# needs: torch
# smallest: 512MiB
# bare: killed
# ends: refusal

import math

import torch
from _stage import LIMIT, play


def work():
    side = math.isqrt(2 * LIMIT // (3 * 8))
    picture = torch.rand(side, side, 3, dtype=torch.float64)  # guilty
    print(picture.mean())


def small_job():
    picture = torch.ones(100, 100, 3, dtype=torch.float32)
    assert picture.sum().item() == 30_000


play(work, small_job, (MemoryError, RuntimeError))
