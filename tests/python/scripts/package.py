"""Uses the whole package on whatever Python runs it; the package lies beside this file."""

import asyncio
import pickle
import sys
import weakref

import outlive


class Held:
    """Stands for a tensor in a local variable."""


held = []


@outlive.retry(batch_size=64)
def train(batch_size):
    assert all(reference() is None for reference in held)
    kept = Held()
    held.append(weakref.ref(kept))
    if batch_size > 16:
        bytearray(sys.maxsize - 100)
    return batch_size


@outlive.retry(batch_size=4)
async def train_later(batch_size):
    await asyncio.sleep(0)
    if batch_size > 2:
        raise outlive.OutOfHeadroom
    return batch_size


for attempt in outlive.retry(batch_size=8):
    with attempt:
        if attempt.batch_size > 2:
            bytearray(sys.maxsize - 100)

error = outlive.OutOfHeadroom(requested=5 << 30, budget=8 << 30, holders=[(1 << 30, "a.py:1 in f")])
copy = pickle.loads(pickle.dumps(error))
assert (type(copy), str(copy)) == (outlive.OutOfHeadroom, str(error))
assert pickle.loads(pickle.dumps(outlive.OutOfHeadroom)) is outlive.OutOfHeadroom
assert 0 < outlive.headroom() <= outlive.usage().budget
try:
    outlive.guard("2GiB")
except outlive.NotGuarded:
    print(train(), asyncio.run(train_later()), attempt.batch_size)
