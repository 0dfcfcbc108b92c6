"""Leaves the depth of a prefetch buffer to TensorFlow, which does not know the limit."""
# cause: unbounded_prefetch
# needs: tensorflow
# smallest: 1GiB
# bare: killed
# ends: refusal

import tensorflow as tf
from _stage import LIMIT, play


def load(index):
    return tf.fill([LIMIT // 12 // 4], tf.cast(index, tf.float32))


def evaluate(volume):
    for _ in range(20):
        volume = tf.sin(volume)
    return tf.reduce_sum(volume)


def work():
    volumes = tf.data.Dataset.range(400).map(load).prefetch(tf.data.AUTOTUNE)
    for step, volume in enumerate(volumes):  # guilty
        # The buffer fills while this takes its time, is emptied by the quick steps, and is made
        # twice as deep for that.
        if step % 24 == 0:
            evaluate(volume)


def small_job():
    numbers = tf.data.Dataset.range(10).prefetch(2)
    assert sum(number.numpy() for number in numbers) == 45


play(work, small_job, (MemoryError, tf.errors.ResourceExhaustedError))
