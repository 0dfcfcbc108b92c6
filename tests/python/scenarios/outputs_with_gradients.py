"""Keeps what the model said in training, to plot it; each output holds the graph behind it."""
# cause: autograd_history_kept
# needs: torch
# smallest: 512MiB
# bare: killed
# ends: either

import torch
from _stage import LIMIT, play
from torch import nn

model = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.LazyLinear(10))
model(torch.zeros(1, 3, 32, 32))


def work():
    images = torch.rand(64, 3, 32, 32)
    history = []
    kept = 2 * 64 * 16 * 32 * 32 * 4
    for _ in range(3 * LIMIT // kept):
        outputs = model(images)  # guilty
        history.append(outputs)  # guilty


def small_job():
    outputs = model(torch.zeros(2, 3, 32, 32)).detach()
    assert torch.equal(outputs[0], outputs[1])


play(work, small_job, (MemoryError, RuntimeError))
