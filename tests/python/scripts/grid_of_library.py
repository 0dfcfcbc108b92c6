"""Makes grids of arrays of a library that is neither PyTorch nor NumPy, and compares the bits.

Usage: grid_of_library.py jax|tensorflow
"""

import importlib
import sys

import torch

import outlive

module = importlib.import_module(sys.argv[1])
make = module.numpy.asarray if sys.argv[1] == "jax" else module.constant
images = torch.rand(9, 3, 8, 10, generator=torch.Generator().manual_seed(5))
expected = outlive.make_grid(images)
for form in (make(images.numpy()), [make(image.numpy()) for image in images]):
    found = outlive.make_grid(form)
    assert isinstance(found, torch.Tensor), type(found)
    assert torch.equal(found, expected)
print("same")
