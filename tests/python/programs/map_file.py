"""Goes through a mapped file that is larger than the limit: its pages are the cache's."""

import sys

import numpy as np

PIECE = 64 << 20
values = np.memmap(sys.argv[1], dtype=np.uint8, mode="r")
pieces = [values[start : start + PIECE] for start in range(0, len(values), PIECE)]
print(len(values), sum(int(piece.max()) for piece in pieces))
