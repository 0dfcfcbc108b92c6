"""Holds many blocks that are only sampled, in the main thread; prints how many bytes."""

import os

COUNT, SIZE = 40_000, 10_000
kept = [bytearray(SIZE) for _ in range(COUNT)]  # mark: small
# A bytearray asks for one byte more than it shows.
print(COUNT * (SIZE + 1), flush=True)
os._exit(0)
