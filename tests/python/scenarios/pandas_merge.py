"""Merges two tables on a key that is not unique in either."""
# cause: oversized_tensor
# needs: pandas, numpy
# smallest: 512MiB
# bare: killed
# ends: refusal

import math

import numpy as np
import pandas as pd
from _stage import LIMIT, play

KEYS = 10


def work():
    # Each key meets every row of the same key: rows * rows / KEYS of 24 bytes.
    rows = math.isqrt(2 * LIMIT * KEYS // 24)
    visits = pd.DataFrame({"user": np.arange(rows) % KEYS, "page": np.arange(rows)})
    orders = pd.DataFrame({"user": np.arange(rows) % KEYS, "price": np.arange(rows) * 0.5})
    joined = visits.merge(orders, on="user")  # guilty
    print(joined.describe())


def small_job():
    users = pd.DataFrame({"user": [1, 2, 3], "name": ["a", "b", "c"]})
    assert len(users.merge(users, on="user")) == 3


play(work, small_job)
