"""Pools whose memory runs out on a thread that is not the user's, or in a task of a library.

Catches the error, lets go of the data, and uses another pool: `pools.py HOW`.
"""

import csv
import gc
import itertools
import multiprocessing
import sys
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

TASKS = 100_000


def numbers(start):
    return [float(start + step) for step in range(30_000)]


def seldom(start):
    time.sleep(0.01)
    return numbers(start)[:20_000]


def wait_for_map(method):
    # A thread of the pool reads the results, and this one waits for a lock.
    with multiprocessing.get_context(method).Pool(2) as pool:
        pool.map(numbers, range(TASKS), chunksize=4)


def wait_for_results():
    with multiprocessing.Pool(2) as pool:
        kept = list(pool.imap_unordered(seldom, range(TASKS)))
    return kept


def wait_for_futures():
    with ProcessPoolExecutor(2) as pool:
        return list(pool.map(numbers, range(TASKS // 50)))


def wait_for_thread():
    with ThreadPoolExecutor(2) as pool:
        rows = csv.DictReader(itertools.cycle(["a,b,c\n"]))
        return pool.submit(list, rows).result()


HOW = {
    "map": lambda: wait_for_map("fork"),
    "map_spawned": lambda: wait_for_map("spawn"),
    "results": wait_for_results,
    "futures": wait_for_futures,
    "thread": wait_for_thread,
}

if __name__ == "__main__":
    try:
        HOW[sys.argv[1]]()
    except MemoryError:
        print("caught", flush=True)
    gc.collect()
    with multiprocessing.Pool(1) as pool:
        print(pool.map(abs, [-1, -2]), flush=True)
