"""Fills memory with one array up to so many bytes in all."""

import sys

import numpy as np

with open("/proc/self/status", encoding="ascii") as status:
    used = sum(int(line.split()[1]) << 10 for line in status if line.startswith("RssAnon"))
ones = np.ones((int(sys.argv[1]) - used) // 8)
print(ones.sum() == len(ones))
