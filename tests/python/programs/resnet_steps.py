"""Five training steps of a residual network."""

import torch
from torchvision.models import resnet18

torch.manual_seed(0)
model = resnet18(num_classes=10)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
images, labels = torch.rand(16, 3, 64, 64), torch.arange(16) % 10
for step in range(5):
    loss = torch.nn.functional.cross_entropy(model(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, f"{loss.item():.3f}")
