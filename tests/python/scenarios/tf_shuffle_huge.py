"""Shuffles batches of images with a buffer that takes in the whole data set."""
# cause: unbounded_prefetch
# needs: tensorflow
# smallest: 1GiB
# bare: killed
# ends: refusal

import tensorflow as tf
from _stage import LIMIT, play


def work():
    images = tf.data.Dataset.range(2 * LIMIT // (64 * 64 * 3 * 4))
    images = images.map(lambda index: tf.fill([64, 64, 3], tf.cast(index, tf.float32)))
    for batch in images.batch(128).shuffle(100_000):  # guilty
        print(batch.shape)


def small_job():
    numbers = tf.data.Dataset.range(10).shuffle(10)
    assert sum(number.numpy() for number in numbers) == 45


play(work, small_job, (MemoryError, tf.errors.ResourceExhaustedError))
