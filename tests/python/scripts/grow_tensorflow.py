"""A shuffle buffer that takes in a whole data set of large elements."""

import runpy
import sys

import tensorflow

elements = tensorflow.data.Dataset.range(1 << 40)
# Each element depends on its number, or all would share one folded constant.
images = elements.map(lambda index: tensorflow.fill([512, 1024], index))
shuffled = images.shuffle(10_000_000)
if len(sys.argv) > 1:
    shuffled = images.shuffle(20)
for _ in shuffled:  # mark: hold
    if len(sys.argv) > 1:
        runpy.run_path(sys.argv[1])
