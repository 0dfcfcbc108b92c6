"""Keeps a table of every file it reads, in an allocator that is not the process's own."""
# cause: results_kept_in_loop
# needs: pyarrow
# smallest: 512MiB
# bare: killed
# ends: either

import pyarrow as pa
import pyarrow.compute as pc
from _stage import LIMIT, play


def work():
    prices = pa.array(range(100_000), pa.float64())
    tables = []
    for number in range(2 * LIMIT // prices.nbytes):
        tables.append(pa.table({"price": pc.add(prices, number)}))  # guilty
    print(pa.concat_tables(tables).num_rows)


def small_job():
    table = pa.table({"price": pa.array([1.0, 2.0, 3.0])})
    assert pc.sum(table["price"]).as_py() == 6.0


play(work, small_job)
