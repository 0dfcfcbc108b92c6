"""A small job of TensorFlow: a pipeline, a graph function, a gradient."""

import tensorflow as tf

tf.random.set_seed(0)
numbers = tf.data.Dataset.range(1000).map(lambda number: number * 2).batch(100).prefetch(2)
print(sum(int(tf.reduce_sum(batch)) for batch in numbers))


@tf.function
def step(value):
    return tf.reduce_sum(tf.matmul(value, value, transpose_b=True))


value = tf.Variable(tf.ones([64, 64]))
with tf.GradientTape() as tape:
    result = step(value)
print(float(result), float(tf.reduce_sum(tape.gradient(result, value))))
