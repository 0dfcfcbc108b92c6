"""Allocates at far more lines than a small box has room for; one line holds most, then others."""

import os

LINES = 20_000
held = [bytearray(40_000_003)]  # mark: before
source = "def take_{0}():\n    return bytearray(140_000)\n"
for number in range(LINES):
    names = {}
    exec(compile(source.format(number), f"<generated {number}>", "exec"), names)
    names[f"take_{number}"]()
    if number % 1000 == 0:
        held.append(names[f"take_{number}"]())
held.append(bytearray(50_000_017))  # mark: after
print(len(held), flush=True)
os._exit(0)
