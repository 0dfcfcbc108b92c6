"""Reserves far more addresses than there is memory, as allocators do, and uses a little."""

import mmap

# `MAP_NORESERVE`: not every Python has a name for it.
FLAGS = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000
reserved = mmap.mmap(-1, 1 << 40, FLAGS, mmap.PROT_READ | mmap.PROT_WRITE)
reserved[: 1 << 20] = b"x" * (1 << 20)
print(reserved[:10], len(reserved))
