"""Keeps the features of every batch in a list."""
# cause: results_kept_in_loop
# needs: torch
# smallest: 512MiB
# bare: killed
# ends: either

import torch
from _stage import LIMIT, play


def work():
    weights = torch.rand(256, 1024)
    batch = torch.rand(1024, 256)
    features = []
    for _ in range(2 * LIMIT // (1024 * 1024 * 4)):
        features.append(batch @ weights)  # guilty


def small_job():
    features = [torch.ones(10, 10) for _ in range(10)]
    assert torch.cat(features).sum().item() == 1000


play(work, small_job, (MemoryError, RuntimeError))
