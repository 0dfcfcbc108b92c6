"""Puts the hook into process after process while their threads allocate and load libraries.

Arguments: the hook, a folder for boxes, how many processes, the library of busy threads, and
libraries: the first half for the threads to load and unload, the second half for this one to load
and keep (one that is kept by anybody is never unloaded). Prints how many ended well.
"""

import ctypes
import os
import shutil
import sys
import time
from pathlib import Path

# Threads that go on do as much within milliseconds, on a machine that has nothing else to do.
ENOUGH = 2000
PATIENCE = 30


def one_round(hook, busy, libraries):
    """In a process of its own: its exit code says how it went."""
    threads = ctypes.CDLL(busy)
    half = len(libraries) // 2
    paths = (ctypes.c_char_p * half)(*(path.encode() for path in libraries[:half]))
    threads.begin(paths, half)
    time.sleep(0.002)
    ctypes.CDLL(hook, mode=ctypes.RTLD_GLOBAL)
    before = threads.done()
    for path in libraries[half:]:
        library = ctypes.CDLL(path)
        library.take.restype = ctypes.c_void_p
        library.give.argtypes = [ctypes.c_void_p]
        library.give(library.take(ctypes.c_size_t(300_000)))
    until = time.monotonic() + PATIENCE
    while threads.done() < before + ENOUGH and time.monotonic() < until:
        time.sleep(0.001)
    is_stuck = threads.done() < before + ENOUGH
    # Without Python's own end, which is not what is tested here.
    os._exit(2 if is_stuck else 1 if threads.end() else 0)


def main():
    hook, folder, count, busy, *libraries = sys.argv[1:]
    os.environ["OUTLIVE_RUN_DIR"] = folder
    os.environ["OUTLIVE_BOX_SIZE"] = str(4 << 20)
    good = 0
    for number in range(int(count)):
        pid = os.fork()
        if pid == 0:
            one_round(hook, busy, libraries)
        _, status = os.waitpid(pid, 0)
        if status == 0:
            good += 1
        else:
            print(f"round {number}: wait status {status}", file=sys.stderr)
        for box in Path(folder).iterdir():
            shutil.rmtree(box) if box.is_dir() else box.unlink()
    print(good)


main()
