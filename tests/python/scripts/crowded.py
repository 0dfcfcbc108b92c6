"""Fills the table of live blocks until its thresholds have doubled, then holds larger blocks.

The blocks come straight from `malloc` and are never written to, so they take no memory.
"""

import ctypes
import os

malloc = ctypes.CDLL(None).malloc
malloc.restype, malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]

FILLING, SIZE, COUNT = 150_000, 200_000, 4_000
for _ in range(FILLING):
    malloc(131_072)  # mark: filling
for _ in range(COUNT):
    malloc(SIZE)  # mark: later
print(COUNT * SIZE, flush=True)
os._exit(0)
