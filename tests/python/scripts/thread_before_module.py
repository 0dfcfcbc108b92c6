"""Starts a thread without `threading`, then one with it, which fails."""

import _thread

ended = _thread.allocate_lock()
ended.acquire()
_thread.start_new_thread(ended.release, ())
ended.acquire()

import threading  # noqa: E402


def fail():
    raise ValueError("in a thread")


thread = threading.Thread(target=fail)
thread.start()
thread.join()
