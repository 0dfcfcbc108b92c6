"""Runs out of memory in one framework, for real, until the batch is small enough.

Prints the sizes that were tried, the type of the first error, and whether anything that a failed
attempt held was still there when the next one began.
"""

import errno
import mmap
import sys
import weakref

import outlive

# More than the address space of a process: no machine grants it.
BYTES = 1 << 50


class Held:
    """Stands for a tensor in a local variable of a failed attempt."""


def builtin():
    bytearray(1 << 60)


def mapping():
    mmap.mmap(-1, BYTES)


def numpy():
    import numpy

    numpy.empty(BYTES, numpy.uint8)


def pyarrow():
    import pyarrow

    pyarrow.allocate_buffer(BYTES)


def torch():
    import torch

    torch.empty(BYTES, dtype=torch.uint8)


def jax():
    import jax

    jax.numpy.zeros((BYTES >> 20, 1 << 20), "int8").block_until_ready()


def tensorflow():
    import tensorflow

    tensorflow.zeros((BYTES >> 20, 1 << 20), "int8")


def tf_data():
    import tensorflow

    shape = (BYTES >> 20, 1 << 20)
    numbers = tensorflow.data.Dataset.range(2).map(lambda _: tensorflow.random.normal(shape))
    list(numbers)


class Records:
    """A data set whose items do not fit."""

    def __init__(self, load):
        self.load = load

    def __len__(self):
        return 4

    def __getitem__(self, index):
        return self.load()


def through_loader(load):
    from torch.utils.data import DataLoader

    list(DataLoader(Records(load), num_workers=1))


KINDS = {
    "builtin": builtin,
    "mapping": mapping,
    "numpy": numpy,
    "pyarrow": pyarrow,
    "torch": torch,
    "jax": jax,
    "tensorflow": tensorflow,
    "tf_data": tf_data,
    "loader_builtin": lambda: through_loader(builtin),
    "loader_numpy": lambda: through_loader(numpy),
    "loader_torch": lambda: through_loader(torch),
}

tried = []
left_behind = []
errors = []


@outlive.retry(batch_size=64)
def train(run_out, fits, batch_size):
    left_behind.extend(reference for reference in tried if reference[1]() is not None)
    held = Held()
    tried.append((batch_size, weakref.ref(held)))
    if batch_size > fits:
        try:
            run_out()
        except Exception as error:
            errors.append(type(error).__name__)
            # An error that leads to another: both hold this frame.
            if isinstance(error, OSError):
                assert error.errno == errno.ENOMEM
            raise
    return batch_size


result = train(KINDS[sys.argv[1]], int(sys.argv[2]))
print(result, *(size for size, _ in tried))
print(errors[0], len(left_behind))
