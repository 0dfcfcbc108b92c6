"""Trains a network whose activations are most of its memory."""

import torch
from torch import nn

torch.manual_seed(0)
layers = [layer for _ in range(12) for layer in (nn.Linear(64, 64), nn.ReLU())]
model = nn.Sequential(*layers)
optimizer = torch.optim.Adam(model.parameters())
inputs = torch.rand(65_536, 64)
for step in range(3):
    loss = (model(inputs) - inputs).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, f"{loss.item():.3f}")
