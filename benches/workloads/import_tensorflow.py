"""What `import tensorflow` alone costs."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow

assert int(tensorflow.reduce_sum([1, 1])) == 2
