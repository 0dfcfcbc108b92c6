"""A small job of Arrow: a table to Parquet and back, with its own memory pool."""

import io

import pyarrow
import pyarrow.compute
import pyarrow.parquet

table = pyarrow.table(
    {"number": list(range(100_000)), "word": ["x" * (n % 50) for n in range(100_000)]}
)
file = io.BytesIO()
pyarrow.parquet.write_table(table, file)
back = pyarrow.parquet.read_table(io.BytesIO(file.getvalue()))
print(back.num_rows, pyarrow.compute.sum(back["number"]), back.equals(table))
print(pyarrow.default_memory_pool().backend_name)
