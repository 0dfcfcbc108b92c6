"""Children by multiprocessing, each of which holds memory and ends without giving it back."""

import multiprocessing
import os
import sys

SIZE = 21_000_017


def hold(number, answers):
    kept = bytearray(SIZE + number * 1000)  # mark: hold
    answers.put((number, os.getpid(), len(kept)))
    answers.close()
    answers.join_thread()
    os._exit(0)


if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    answers = context.Queue()
    workers = [context.Process(target=hold, args=[n, answers]) for n in range(3)]
    for worker in workers:
        worker.start()
    said = sorted(answers.get() for _ in workers)
    for worker in workers:
        worker.join()
    print(said)
