"""Decodes large volumes in parallel calls, more of them at once than there is room for."""
# cause: unbounded_parallel_map
# needs: tensorflow
# smallest: 1GiB
# bare: killed
# ends: either

from collections import deque

import tensorflow as tf
from _stage import LIMIT, play


def decode(index):
    return tf.fill([LIMIT // 4 // 4], tf.cast(index, tf.float32))


def work():
    volumes = tf.data.Dataset.range(64).map(decode, num_parallel_calls=4)
    # The changes over time are computed from the last few.
    latest = deque(maxlen=4)
    for volume in volumes:  # guilty
        latest.append(volume)


def small_job():
    volumes = tf.data.Dataset.range(4).map(lambda index: tf.fill([10], index), 2)
    assert sum(int(tf.reduce_sum(volume)) for volume in volumes) == 60


play(work, small_job, (MemoryError, tf.errors.ResourceExhaustedError))
