"""Builds a new layer at every step, and the model remembers them all."""
# cause: variables_created_in_loop
# needs: tensorflow
# smallest: 1GiB
# bare: killed
# ends: either

import tensorflow as tf
from _stage import LIMIT, play


class Model(tf.Module):
    def __init__(self):
        self.layers = []

    def __call__(self, inputs):
        weights = tf.Variable(tf.random.normal([1024, 1024]))  # guilty
        self.layers.append(weights)
        return inputs @ weights


def work():
    model = Model()
    inputs = tf.ones([1, 1024])
    for _ in range(3 * LIMIT // (4 << 20)):
        model(inputs)  # guilty


def small_job():
    assert Model()(tf.ones([2, 1024])).shape == (2, 1024)


play(work, small_job, (MemoryError, tf.errors.ResourceExhaustedError))
