"""Exceptions that nothing catches, in a thread, in a destructor and at last in the main thread."""

import threading


class Untidy:
    def __del__(self):
        raise OSError("cannot clean up")  # mark: unraisable


def fail_in_thread():
    raise ValueError("größer als erlaubt: \N{PILE OF POO} \ud800")  # mark: thread


def fail():
    raise KeyError("missing")  # mark: main


thread = threading.Thread(target=fail_in_thread, name="lader ü")
thread.start()
thread.join()
Untidy()
fail()  # mark: caller
