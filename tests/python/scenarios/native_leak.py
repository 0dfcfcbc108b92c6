"""Calls a C function whose results are the caller's to free, and does not free them in time."""
# cause: native_leak
# needs:
# smallest: 512MiB
# bare: killed
# ends: stop

import ctypes

from _stage import LIMIT, play

libc = ctypes.CDLL(None)
libc.strdup.restype = ctypes.c_void_p
libc.free.argtypes = [ctypes.c_void_p]
copies = []


def work():
    document = b"text " * 8_000
    for _ in range(2 * LIMIT // len(document)):
        copies.append(libc.strdup(document))  # guilty


def small_job():
    for copy in copies:
        libc.free(copy)
    copy = libc.strdup(b"text")
    assert ctypes.string_at(copy) == b"text"
    libc.free(copy)


play(work, small_job)
