"""Calls a function of a C library: call.py LIBRARY FUNCTION [WORD]; prints what it gives back.

With OUTLIVE_TEST_FAULTHANDLER set, Python's own fault handler is on.
"""

import ctypes
import os
import sys
import threading

if "OUTLIVE_TEST_FAULTHANDLER" in os.environ:
    import faulthandler

    faulthandler.enable()


def call(library, function, *words):
    arguments = [int(word) if word.isdigit() else word.encode() for word in words]
    result = getattr(ctypes.CDLL(library), function)(*arguments)  # mark: call
    print(function, result)


if "OUTLIVE_TEST_IN_THREAD" in os.environ:
    thread = threading.Thread(target=call, args=sys.argv[1:], name="victim")
    thread.start()
    thread.join()
else:
    call(*sys.argv[1:])
