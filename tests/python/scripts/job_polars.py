"""A small job of Polars: a lazy group-by, with its own allocator and threads."""

import polars

frame = polars.DataFrame({"key": [n % 10 for n in range(100_000)], "value": list(range(100_000))})
print(frame.lazy().group_by("key").agg(polars.col("value").sum()).sort("key").collect().rows())
