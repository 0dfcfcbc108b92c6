"""One array far larger than memory, of which only a few cells are ever touched."""

import sys

import numpy as np

counts = np.zeros(int(sys.argv[1]), dtype=np.uint8)
counts[:: 64 << 20] += 1
print(len(counts), int(counts[:: 64 << 20].sum()))
