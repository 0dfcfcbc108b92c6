"""Gives a recurrent layer a very long sequence, whose every step it remembers."""
# cause: unbounded_sequence
# needs: torch
# smallest: 512MiB
# bare: killed
# ends: either

import torch
from _stage import LIMIT, play
from torch import nn

layer = nn.LSTM(8, 128)


def work():
    steps = 2 * LIMIT // (12 * 256 * 128 * 4)
    outputs, _ = layer(torch.rand(steps, 256, 8))  # guilty
    outputs.sum().backward()


def small_job():
    outputs, _ = layer(torch.rand(5, 2, 8))
    assert outputs.shape == (5, 2, 128)


play(work, small_job, (MemoryError, RuntimeError))
