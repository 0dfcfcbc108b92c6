"""Asks for more than any machine has, and does not look after it."""

bytearray(1 << 50)  # mark: refused
