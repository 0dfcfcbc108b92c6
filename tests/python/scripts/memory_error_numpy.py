"""Asks NumPy for more than any machine has, and goes on."""

import numpy

try:
    numpy.ones(1 << 46)
except MemoryError as error:
    print("caught", error)
print("alive", numpy.ones(1 << 20).sum())
