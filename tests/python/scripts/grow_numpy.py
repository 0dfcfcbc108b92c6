"""Keeps ever more arrays on one line."""

import runpy
import sys

import numpy

kept = []
while True:
    kept.append(numpy.ones(500_009))  # mark: hold
    if len(sys.argv) > 1 and len(kept) == 20:
        runpy.run_path(sys.argv[1])
