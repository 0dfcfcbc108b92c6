"""Asks for more than any machine has, and goes on."""

try:
    bytearray(1 << 50)
except MemoryError as error:
    print("caught", repr(error))
print("alive", len(bytearray(1 << 20)))
