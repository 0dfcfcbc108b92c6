"""Opens a session for every model it tries, and keeps them."""
# cause: session_not_closed
# needs: tensorflow
# smallest: 1GiB
# bare: killed
# ends: either

import tensorflow as tf
from _stage import LIMIT, play


def open_session(size):
    with tf.Graph().as_default():
        weights = tf.compat.v1.get_variable("weights", [size, 1024])
        session = tf.compat.v1.Session()
        session.run(tf.compat.v1.global_variables_initializer())  # guilty
        assert session.run(tf.size(weights)) == size * 1024
    return session


def work():
    sessions = []
    for _ in range(2 * LIMIT // (16 << 20)):
        sessions.append(open_session(4096))  # guilty


def small_job():
    with open_session(8) as session:
        assert session.graph is not None


play(work, small_job, (MemoryError, tf.errors.ResourceExhaustedError))
