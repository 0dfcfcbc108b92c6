"""Trains a layer that fits; with its gradient and the optimizer's two averages it does not."""
# cause: oversized_layer
# needs: torch
# smallest: 512MiB
# bare: killed
# ends: refusal

import torch
from _stage import play, room
from torch import nn


def work():
    layer = nn.Linear(4096, int(0.4 * room()) // (4096 * 4))  # guilty
    optimizer = torch.optim.Adam(layer.parameters())
    for _ in range(3):
        loss = layer(torch.rand(8, 4096)).square().mean()
        optimizer.zero_grad()
        loss.backward()  # guilty
        optimizer.step()  # guilty


def small_job():
    layer = nn.Linear(16, 16)
    optimizer = torch.optim.Adam(layer.parameters())
    layer(torch.ones(4, 16)).mean().backward()
    optimizer.step()


play(work, small_job, (MemoryError, RuntimeError))
