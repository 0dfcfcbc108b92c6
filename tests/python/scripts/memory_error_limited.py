"""Runs into an address-space limit again and again, and goes on."""

import resource

resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
refused = 0
for _ in range(50):
    try:
        bytearray(2 << 30)
    except MemoryError:
        refused += 1
print("refused", refused, "alive", len(bytearray(1 << 20)))
