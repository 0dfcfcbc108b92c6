"""Asks for 10,000 x 10,000 x 10,000 normal numbers."""
# cause: oversized_tensor
# needs: torch
# smallest: 512MiB
# bare: raises
# ends: refusal

import torch
from _stage import play


def work():
    noise = torch.normal(0.0, 1.0, size=(10_000, 10_000, 10_000))  # guilty
    print(noise.std())


def small_job():
    noise = torch.normal(0.0, 1.0, size=(100, 100))
    assert 0.9 < noise.std().item() < 1.1


play(work, small_job, (MemoryError, RuntimeError))
