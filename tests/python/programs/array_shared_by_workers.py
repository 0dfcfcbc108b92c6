"""Forked workers read one large array of the parent's: it is there once, not five times."""

import multiprocessing
import sys

import numpy as np

array = np.ones(int(sys.argv[1]) // 8)


def total(start):
    return array[start::4].sum()


if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(4) as pool:
        print(sum(pool.map(total, range(4))) == len(array))
