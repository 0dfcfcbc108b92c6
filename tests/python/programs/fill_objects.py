"""Fills memory with small objects up to so many bytes in all."""

import sys


def used():
    with open("/proc/self/status", encoding="ascii") as status:
        return sum(int(line.split()[1]) << 10 for line in status if line.startswith("RssAnon"))


rows = []
while used() + (1 << 20) <= int(sys.argv[1]):
    rows.append([{"number": number} for number in range(2000)])
print(all(row[-1]["number"] == 1999 for row in rows))
