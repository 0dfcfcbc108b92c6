"""Two hundred threads at once: their stacks are address space, hardly any memory."""

import threading

THREADS = 200
all_here = threading.Barrier(THREADS)
sums = []


def add():
    all_here.wait()
    sums.append(sum(range(1000)))


threads = [threading.Thread(target=add) for _ in range(THREADS)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(sums), set(sums))
