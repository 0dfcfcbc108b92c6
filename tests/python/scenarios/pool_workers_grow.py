"""A pool whose workers keep the arrays of every task they did."""
# cause: worker_killed
# needs: numpy
# smallest: 512MiB
# bare: worker
# ends: either

import sys
from concurrent.futures import ProcessPoolExecutor

import numpy as np
from _stage import LIMIT, play

seen = []


def transform(seed):
    seen.append(np.random.default_rng(seed).random(1_000_000))  # guilty
    return seen[-1].mean()


def work():
    with ProcessPoolExecutor(max_workers=2) as pool:
        for mean in pool.map(transform, range(3 * LIMIT // 8_000_000)):  # guilty
            assert 0 < mean < 1


def small_job():
    with ProcessPoolExecutor(max_workers=1) as pool:
        assert list(pool.map(abs, [-1, -2])) == [1, 2]


if __name__ == "__main__":
    # A pool that lost a worker would raise another error: what a worker meets, it has to survive.
    play(work, small_job)
    sys.exit(0)
