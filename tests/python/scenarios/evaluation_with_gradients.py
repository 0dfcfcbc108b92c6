"""Evaluates without `no_grad`, and keeps the error of every batch."""
# cause: inference_with_gradients
# needs: torch
# smallest: 512MiB
# bare: killed
# ends: either

import torch
from _stage import LIMIT, play
from torch import nn

model = nn.Sequential(nn.Linear(128, 2048), nn.Tanh(), nn.Linear(2048, 128))


def work():
    model.eval()
    inputs = torch.rand(256, 128)
    errors = []
    for _ in range(3 * LIMIT // (256 * 2048 * 4)):
        predicted = model(inputs)  # guilty
        errors.append((predicted - inputs).abs().mean())  # guilty
    print(torch.stack(errors).mean())


def small_job():
    with torch.inference_mode():
        assert model(torch.rand(2, 128)).shape == (2, 128)


play(work, small_job, (MemoryError, RuntimeError))
