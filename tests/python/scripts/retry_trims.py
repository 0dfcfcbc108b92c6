"""Frees blocks below one that stays, so that the C library keeps them; then runs out of memory.

Prints the resident bytes when the blocks were there, after they were freed, and at the second
attempt.
"""

from pathlib import Path

import outlive

# Below the size from which the C library maps blocks one by one.
SIZE = 100_000
COUNT = 2_000


def resident():
    [line] = [
        line
        for line in Path("/proc/self/status").read_text().splitlines()
        if line.startswith("RssAnon")
    ]
    return int(line.split()[1]) * 1024


blocks = [b"x" * SIZE for _ in range(COUNT)]
filled = resident()
del blocks[:-1]
kept = resident()

for attempt in outlive.retry(batch_size=2):
    with attempt:
        if attempt.batch_size == 2:
            bytearray(1 << 60)
        print(filled, kept, resident())
