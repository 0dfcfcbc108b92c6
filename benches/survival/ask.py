"""Asks a C library for one large block again and again, and prints the time of one request.

Usage: `ask.py LIBRARY BYTES COUNT HELD`. The block is given back untouched, so that what is timed
is `malloc`, `free` and whatever stands between them and the program: no page is ever made. So many
bytes are held all the while, as by a program that has little room left.
"""

import ctypes
import json
import statistics
import sys

if __name__ == "__main__":
    library = ctypes.CDLL(sys.argv[1])
    library.ask.restype = None
    size, count = int(sys.argv[2]), int(sys.argv[3])
    held = b"\1" * int(sys.argv[4])
    nanoseconds = (ctypes.c_uint64 * count)()
    warm_up = min(count, 1000)
    library.ask(ctypes.c_size_t(size), ctypes.c_size_t(warm_up), nanoseconds)
    library.ask(ctypes.c_size_t(size), ctypes.c_size_t(count), nanoseconds)
    parts = statistics.quantiles(nanoseconds, n=100)
    print(json.dumps({"median": parts[49], "p90": parts[89], "p99": parts[98]}))
