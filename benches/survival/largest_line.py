"""Prints the line of a script that holds most memory, after memray's or Fil's record of a run.

Usage: `largest_line.py RECORD SCRIPT`. Every block counts for the innermost line of the script on
its stack, which is what one sees as the widest part of either tool's flame graph.
"""

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

#: One block or group of blocks: bytes, and file and line of every frame, innermost first.
Held = tuple[int, list[tuple[str, int]]]


def of_memray(record: Path) -> Iterator[Held]:
    """What was held at the peak."""
    import memray

    with memray.FileReader(record) as reader:
        for held in reader.get_high_watermark_allocation_records(merge_threads=True):
            yield held.size, [(file, line) for _, file, line in held.stack_trace()]


def of_fil(record: Path) -> Iterator[Held]:
    """What is in Fil's stacks: `file:line (function);… bytes`, outermost first."""
    for text in record.read_text(encoding="utf-8", errors="replace").splitlines():
        stack, _, size = text.rpartition(" ")
        places = [frame.rpartition(" (")[0].rpartition(":") for frame in stack.split(";")]
        frames = [(file, int(line)) for file, _, line in places if line.isdigit()]
        yield int(size), frames[::-1]


def main(record: Path, script: str) -> None:
    """Prints the line, or nothing if the script is on no stack."""
    totals: Counter[int] = Counter()
    for size, frames in (of_fil if record.suffix == ".prof" else of_memray)(record):
        own = [line for file, line in frames if file == script]
        if own:
            totals[own[0]] += size
    for line, _ in totals.most_common(1):
        print(line)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
