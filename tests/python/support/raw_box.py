"""Reads a few words of a box as `docs/format.md` describes them, without Outlive's own reader."""

import struct

STACKS = 5
SECTION_HEADER = 64
STACK_SIZE = 128
TRUNCATED = 1 << 4


def section(data, kind):
    """The bytes of a section, by the number that stands in the table."""
    [count] = struct.unpack_from("<I", data, 12)
    for entry in range(count):
        number, _, offset, length = struct.unpack_from("<IIQQ", data, 64 + 32 * entry)
        if number == kind:
            return data[offset : offset + length]
    raise AssertionError(f"no section {kind}")


def stack_flags(path):
    """Flags of all stacks, by the size of their largest request."""
    stacks = section(path.read_bytes(), STACKS)
    [count] = struct.unpack_from("<Q", stacks, 0)
    flags = {}
    for number in range(count):
        place = SECTION_HEADER + number * STACK_SIZE
        [largest] = struct.unpack_from("<Q", stacks, place + 96)
        [flags[largest]] = struct.unpack_from("<I", stacks, place + 28)
    return flags
