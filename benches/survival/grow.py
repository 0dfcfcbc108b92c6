"""Grows by pieces of 64 KiB from four threads, as fast as memory can be had, until it is stopped.

Usage: `grow.py native LIBRARY` (pieces that a C library keeps, asked for without the interpreter's
lock) or `grow.py objects` (Python's own). Every thread goes on until an error reaches it. Then the
pieces are let go, a small job is done, and the speed of the growth is printed.
"""

import ctypes
import json
import sys
import threading
import time
from collections.abc import Callable

THREADS = 4
PIECE = 64 << 10
PIECES_A_CALL = 16

#: Calls done by each thread, and what was when each error came: the time, all calls, its type.
calls = [0] * THREADS
errors: list[tuple[float, int, str]] = []


def native(path: str) -> tuple[Callable[[int], None], Callable[[], None]]:
    """Grows chains of a C library; a call takes microseconds, so errors get through quickly."""
    library = ctypes.CDLL(path)
    library.grow.restype = ctypes.c_void_p
    library.grow.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    library.release.argtypes = [ctypes.c_void_p]
    library.release.restype = None
    chains = [None] * THREADS

    def grow(thread: int) -> None:
        chains[thread] = library.grow(chains[thread], PIECES_A_CALL)

    def release() -> None:
        for chain in chains:
            library.release(chain)

    return grow, release


def objects() -> tuple[Callable[[int], None], Callable[[], None]]:
    """Grows lists of byte arrays."""
    lists: list[list[bytearray]] = [[] for _ in range(THREADS)]

    def grow(thread: int) -> None:
        lists[thread].extend(bytearray(PIECE) for _ in range(PIECES_A_CALL))

    return grow, lists.clear


def work(thread: int, grow: Callable[[int], None]) -> None:
    """One thread: grows until an error reaches it."""
    try:
        while True:
            grow(thread)
            calls[thread] += 1
    except MemoryError as error:
        errors.append((time.perf_counter(), sum(calls), type(error).__name__))


def main() -> None:
    """Grows, lets go, and goes on."""
    grow, release = native(sys.argv[2]) if sys.argv[1] == "native" else objects()
    threads = [threading.Thread(target=work, args=(index, grow)) for index in range(THREADS)]
    started = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    release()
    assert sum(bytearray(b"\1" * 1000)) == 1000
    # The speed of all four: after the first error fewer go on.
    first, done, kind = min(errors)
    grown = done * PIECES_A_CALL * PIECE
    print(f"caught {kind}: {len(errors)} of {THREADS} threads")
    print(json.dumps({"bytes": grown, "seconds": first - started}))
    print("survived")


if __name__ == "__main__":
    main()
