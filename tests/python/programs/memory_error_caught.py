"""Asks for more than any machine has, expects the error, and does with less."""

try:
    buffer = bytearray(1 << 50)
except MemoryError:
    buffer = bytearray(1 << 20)
print(len(buffer))
