"""Makes one array that is twice as large as memory."""
# cause: oversized_tensor
# needs: numpy
# smallest: 512MiB
# bare: killed
# ends: refusal

import numpy as np
from _stage import LIMIT, play


def work():
    weights = np.ones((2 * LIMIT // 8192, 1024))  # guilty
    print(weights.sum())


def small_job():
    assert np.ones((100, 100)).sum() == 10_000


play(work, small_job)
