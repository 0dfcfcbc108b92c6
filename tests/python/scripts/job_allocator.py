"""Uses the allocator hard from several threads, and says which one it is by its symbols."""

import ctypes
import hashlib
import threading

library = ctypes.CDLL(None)
own = {"je": "mallctl", "tc": "tc_version", "mi": "mi_version"}
print("allocator", [name for name, symbol in own.items() if hasattr(library, symbol)])
results = {}


def work(number):
    digest = hashlib.sha256()
    kept = []
    for size in range(1, 3000, 7):
        kept.append(bytes([number]) * (size * 97 % 200_000))
        digest.update(kept[size % len(kept)])
    results[number] = digest.hexdigest()


threads = [threading.Thread(target=work, args=[number]) for number in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(sorted(results.items()))
held = bytearray(33_000_001)  # mark: hold
print(len(held), flush=True)
