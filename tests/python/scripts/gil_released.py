"""Asks for memory below Python, where the interpreter's lock is not held, in two threads."""

import ctypes
import hashlib
import os
import threading

MAIN_SIZE = 9_437_187
THREAD_SIZE = 9_961_475
# scrypt works in 128 * r * n bytes that OpenSSL asks for while Python runs other threads.
SCRYPT_COST = 1 << 13
malloc = ctypes.CDLL(None).malloc
malloc.restype = ctypes.c_void_p
malloc.argtypes = [ctypes.c_size_t]


def spin(stop):
    """Keeps another thread running Python all the time."""
    while not stop.is_set():
        sum(range(100))


def in_thread():
    malloc(THREAD_SIZE)  # mark: thread


def derive():
    hashlib.scrypt(b"", salt=b"salt", n=SCRYPT_COST, r=8, p=1)  # mark: scrypt


stop = threading.Event()
busy = threading.Thread(target=spin, args=[stop])
busy.start()
malloc(MAIN_SIZE)  # mark: main
second = threading.Thread(target=in_thread)
second.start()
second.join()
derive()
stop.set()
busy.join()
os._exit(0)
