"""PyTorch on the processor: a small convolutional network, trained with one thread."""

import torch
from torch import nn

from body import amount, body


def network() -> nn.Module:
    """Three convolutions and a classifier, about 100,000 parameters."""
    return nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1),
        nn.BatchNorm2d(64),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(64, 64, 3, padding=1),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(4),
        nn.Flatten(),
        nn.Linear(1024, 10),
    )


def main() -> None:
    """Trains on fixed random images; the loss must fall."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    steps = amount(full=240, small=2)
    images = torch.rand(32, 3, 32, 32)
    labels = torch.randint(0, 10, (32,))
    model = network()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    with body():
        losses = []
        for _ in range(steps):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(images), labels)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        assert losses[-1:] <= losses[:1]


if __name__ == "__main__":
    main()
