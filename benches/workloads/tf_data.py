"""TensorFlow: an input pipeline that makes, resizes, shuffles and batches images."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf

from body import amount, body


def image(number: tf.Tensor) -> tf.Tensor:
    """A fixed image for each number, resized as an input pipeline would."""
    noise = tf.random.stateless_uniform([96, 96, 3], seed=[number, 7])
    return tf.image.resize(tf.image.flip_left_right(noise), [64, 64])


def main() -> None:
    """Runs through the pipeline once; two parallel calls, in order.

    Parallelism and buffers are fixed; the tuner would only look for others, and its pauses make the
    same run last 7 s or 10 s.
    """
    options = tf.data.Options()
    options.autotune.enabled = False
    count = amount(full=60_000, small=256)
    data = (
        tf.data.Dataset.range(count)
        .map(image, num_parallel_calls=2, deterministic=True)
        .shuffle(256, seed=7)
        .batch(32)
        .prefetch(2)
        .with_options(options)
    )
    with body():
        mean = 0.0
        for batch in data:
            mean += float(tf.reduce_mean(batch)) * len(batch)
        assert 0.4 * count <= mean <= 0.6 * count


if __name__ == "__main__":
    main()
