"""Native threads hold memory: one renamed, two by turns. Usage: `native_threads.py LIBRARY`."""

import ctypes
import os
import sys

take = ctypes.CDLL(sys.argv[1]).take_in_thread
take.argtypes = [ctypes.c_long, ctypes.c_size_t, ctypes.c_char_p]

take(50, 1_000_003, b"renamed")
# The C library gives the next thread the handle of the last one.
for _ in range(100):
    take(1, 2_000_003, None)  # mark: first
    take(2, 3_000_017, None)  # mark: second
os._exit(0)
