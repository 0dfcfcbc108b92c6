"""Keeps ever more memory on one line, and touches it."""

import runpy
import sys

kept = []
while True:
    kept.append(b"x" * 4_000_037)  # mark: hold
    if len(sys.argv) > 1 and len(kept) == 20:
        runpy.run_path(sys.argv[1])
