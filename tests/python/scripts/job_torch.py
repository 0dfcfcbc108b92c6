"""A small job of PyTorch, with a fixed seed."""

import torch

torch.manual_seed(0)
torch.set_num_threads(1)
model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Flatten())
images = torch.randn(8, 3, 32, 32)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(3):
    optimizer.zero_grad()
    loss = model(images).square().mean()
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.6f}")
