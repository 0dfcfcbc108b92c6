"""Allocates, frees, forks and threads without end, for whoever kills it.

One line holds more than all others together, from the first moment on: `hold` takes a first
block before anything else happens, and one more whenever the others have taken theirs. The
first line written to standard output says that it does; children write one too.
"""

import os
import sys
import threading

FIRST = 24_000_011
MORE = 500_009
kept = []


def hold(size):
    kept.append(bytearray(size))  # mark: hold


def churn_big(rounds):
    for round_number in rounds:
        blocks = [bytearray(140_000 + 4096 * (round_number % 7)) for _ in range(8)]
        blocks.clear()


def churn_small(rounds):
    for _ in rounds:
        words = [str(number) for number in range(2000)]
        words.clear()


def forever():
    number = 0
    while True:
        yield number
        number += 1


def child():
    """Holds memory of its own, says so, and goes on for a while."""
    hold(FIRST)
    os.write(1, b"%d\n" % os.getpid())
    churn_big(range(50))
    os._exit(0)


def main():
    hold(FIRST)
    os.write(1, b"%d\n" % os.getpid())
    for work in (churn_big, churn_small):
        threading.Thread(target=work, args=[forever()], daemon=True).start()
    for round_number in forever():
        if len(kept) < 40:
            hold(MORE)
        churn_big([round_number])
        churn_small([round_number])
        if round_number % 5 == 0:
            if os.fork() == 0:
                child()
            # The oldest children are gone by now; the others are left to whoever kills.
            try:
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
            except ChildProcessError:
                pass


if __name__ == "__main__":
    sys.exit(main())
