"""Eight threads allocate and free for so many seconds; at the end each holds a known amount.

Prints what is held as JSON: bytes of large blocks by line, bytes of small ones by line.
"""

import json
import os
import random
import sys
import threading
import time

SECONDS = float(sys.argv[1])
THREADS = 8
end = time.monotonic() + SECONDS
totals = {"large": 0, "small": 0}
lock = threading.Lock()
# Lists, so that nothing is given back before the end.
everything = []


def large(size):
    return bytearray(size)  # mark: large


def small(size):
    return bytearray(size)  # mark: small


def work(seed):
    chance = random.Random(seed)
    held = []
    while time.monotonic() < end:
        for _ in range(50):
            if len(held) < 60 or chance.random() < 0.5:
                held.append(large(chance.randrange(131_072, 400_000)))
            else:
                held.pop(chance.randrange(len(held)))
        churned = [small(chance.randrange(600, 8000)) for _ in range(200)]
        del churned
    few = [small(4001) for _ in range(16_000)]
    with lock:
        # A bytearray asks for one byte more than it shows.
        totals["large"] += sum(len(block) + 1 for block in held)
        totals["small"] += sum(len(block) + 1 for block in few)
        everything.append((held, few))


threads = [threading.Thread(target=work, args=[seed]) for seed in range(THREADS)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(json.dumps(totals), flush=True)
os._exit(0)
