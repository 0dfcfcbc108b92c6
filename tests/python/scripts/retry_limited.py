"""Trains in batches that need two blocks of `batch_size` units each, within a limit on memory.

`rightly`: by `outlive.retry`. `wrongly`: by hand, inside the `except` clause, where the error still
holds the block of the attempt that failed.
"""

import resource
import sys

import outlive

MIB = 1 << 20
UNIT = 10 * MIB

library, way, spare = sys.argv[1], sys.argv[2], sys.argv[3]

if library == "numpy":
    import numpy

    def block(size):
        return numpy.ones(size, numpy.uint8)

else:
    import torch

    def block(size):
        return torch.ones(size, dtype=torch.uint8)


def address_space():
    with open("/proc/self/status") as status:
        [line] = [line for line in status if line.startswith("VmSize")]
    return int(line.split()[1]) * 1024


if spare != "0":
    limit = address_space() + int(spare) * MIB
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def step(batch_size):
    first = block(batch_size * UNIT)
    second = block(batch_size * UNIT)
    return int(first[-1]) + int(second[-1])


def wrongly(batch_size):
    try:
        return step(batch_size)
    except (MemoryError, RuntimeError):
        if batch_size == 1:
            raise
        return wrongly(batch_size // 2)


sizes = []


@outlive.retry(batch_size=64)
def rightly(batch_size):
    sizes.append(batch_size)
    return step(batch_size)


print(rightly() if way == "rightly" else wrongly(64), *sizes, flush=True)
