"""Sums the losses of an epoch as tensors, and with them the graph of every batch."""
# cause: autograd_history_kept
# needs: torch
# smallest: 512MiB
# bare: killed
# ends: either

import torch
from _stage import LIMIT, play
from torch import nn

model = nn.Sequential(nn.Linear(64, 4096), nn.ReLU(), nn.Linear(4096, 1))


def work():
    inputs, targets = torch.rand(512, 64), torch.rand(512, 1)
    total_loss = 0
    for _ in range(2 * LIMIT // (512 * 4096 * 4)):
        loss = nn.functional.mse_loss(model(inputs), targets)  # guilty
        total_loss += loss  # guilty
    total_loss.backward()


def small_job():
    loss = nn.functional.mse_loss(model(torch.rand(8, 64)), torch.rand(8, 1))
    loss.backward()
    assert model[0].weight.grad.shape == (4096, 64)


play(work, small_job, (MemoryError, RuntimeError))
