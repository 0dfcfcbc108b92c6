"""Keeps a frame of every file it reads, in an allocator that is not the process's own."""
# cause: results_kept_in_loop
# needs: polars
# smallest: 512MiB
# bare: killed
# ends: either

import polars as pl
from _stage import LIMIT, play


def work():
    prices = pl.DataFrame({"price": pl.arange(0, 500_000, eager=True)})
    frames = []
    for number in range(2 * LIMIT // (500_000 * 8)):
        frames.append(prices.select(pl.col("price") * 2 + number))  # guilty
    print(pl.concat(frames).height)


def small_job():
    frame = pl.DataFrame({"price": [1, 2, 3]})
    assert frame["price"].sum() == 6


play(work, small_job)
