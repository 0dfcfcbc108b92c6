"""Decodes large volumes in parallel calls, whose results wait until a batch of them is there."""
# cause: unbounded_parallel_map
# needs: tensorflow
# smallest: 1GiB
# bare: killed
# ends: either

import tensorflow as tf
from _stage import LIMIT, play


def decode(index):
    return tf.fill([LIMIT // 4 // 4], tf.cast(index, tf.float32))


def work():
    volumes = tf.data.Dataset.range(64).map(decode, num_parallel_calls=8)
    for batch in volumes.batch(8):  # guilty
        print(batch.shape)


def small_job():
    volumes = tf.data.Dataset.range(4).map(lambda index: tf.fill([10], index), 2).batch(4)
    assert [int(tf.reduce_sum(batch)) for batch in volumes] == [60]


play(work, small_job, (MemoryError, tf.errors.ResourceExhaustedError))
