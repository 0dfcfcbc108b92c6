"""Reads a file larger than the limit in pieces: its pages fill the cache and can be had back."""

import sys

count = 0
with open(sys.argv[1], "rb") as file:
    while piece := file.read(32 << 20):
        count += len(piece)
print(count)
