"""Forks from several threads while others allocate; every child allocates and must end."""

import os
import threading

ROUNDS = 40
SIZE = 5_000_011
stop = threading.Event()
codes = []


def churn():
    while not stop.is_set():
        blocks = [bytearray(200_000) for _ in range(10)]
        words = [str(number) for number in range(500)]
        del blocks, words


def child():
    kept = [bytearray(SIZE)]  # mark: hold
    kept.extend(bytearray(140_000) for _ in range(20))
    os._exit(len(kept))


def fork_often():
    for _ in range(ROUNDS):
        pid = os.fork()
        if pid == 0:
            child()
        codes.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


busy = [threading.Thread(target=churn) for _ in range(2)]
forking = [threading.Thread(target=fork_often) for _ in range(2)]
for thread in busy + forking:
    thread.start()
for thread in forking:
    thread.join()
stop.set()
for thread in busy:
    thread.join()
print(len(codes), set(codes))
