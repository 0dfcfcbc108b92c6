"""Makes large features each epoch while those of the epoch before are still alive."""
# cause: intermediate_outlives_loop
# needs: torch
# smallest: 512MiB
# bare: killed
# ends: refusal

import torch
from _stage import play, room


def work():
    rows = int(0.7 * room()) // (1024 * 4)
    for epoch in range(3):
        features = torch.rand(rows, 1024)  # guilty
        print("epoch", epoch, features.shape, flush=True)


def small_job():
    features = torch.ones(100, 1024)
    assert features.sum().item() == 102_400


play(work, small_job, (MemoryError, RuntimeError))
