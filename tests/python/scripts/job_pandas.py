"""A small job of pandas: a merge and a group-by."""

import pandas

left = pandas.DataFrame({"key": [n % 100 for n in range(20_000)], "value": range(20_000)})
right = pandas.DataFrame({"key": range(100), "name": [f"name {n}" for n in range(100)]})
print(left.merge(right, on="key").groupby("name")["value"].sum().head())
