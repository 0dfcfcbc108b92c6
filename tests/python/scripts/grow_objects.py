"""Keeps ever more small objects: no request is large, the sum is."""

import runpy
import sys

kept = []
while True:
    kept.append([str(number) * 3 for number in range(1000)])  # mark: hold
    if len(sys.argv) > 1 and len(kept) == 1000:
        runpy.run_path(sys.argv[1])
