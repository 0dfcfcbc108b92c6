"""Trains a recurrent cell over a sequence without an end to its history."""
# cause: unbounded_sequence
# needs: torch
# smallest: 512MiB
# bare: killed
# ends: stop

import torch
from _stage import LIMIT, play
from torch import nn

cell = nn.LSTMCell(8, 32)


def work():
    samples = torch.rand(1024, 8)
    hidden, memory = torch.zeros(1024, 32), torch.zeros(1024, 32)
    for _ in range(2 * LIMIT // (8 * 1024 * 32 * 4)):
        hidden, memory = cell(samples, (hidden, memory))  # guilty
    hidden.sum().backward()


def small_job():
    hidden, _ = cell(torch.rand(4, 8))
    hidden.sum().backward()
    assert cell.weight_ih.grad.shape == (128, 8)


play(work, small_job, (MemoryError, RuntimeError))
