"""Keeps a few million small objects."""

rows = [{"number": number, "name": f"row {number}"} for number in range(2_000_000)]
print(len(rows), rows[-1])
