"""What `import torch` alone costs: hundreds of modules, thousands of code objects."""

import torch

assert torch.ones(2).sum() == 2
