"""Runs a workload in this process, then prints the memory the process has resident, as JSON.

Usage: `resident.py NAME [--small]`.

Pages of the frameworks' files come and go with the page cache, so they say nothing; what counts is
anonymous and shared memory, without the pages of black boxes, and the recorder's own library.
"""

import json
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path


def main() -> None:
    """Runs the workload as if it had been started itself."""
    script = Path(__file__).parent / "workloads" / f"{sys.argv.pop(1)}.py"
    sys.path.insert(0, str(script.parent))
    # What the script defined stays alive, as it would in a notebook.
    kept = runpy.run_path(str(script), run_name="__main__")
    figures = {"anonymous": 0, "shared": 0, "box": 0, "library": 0, "names_kept": len(kept)}
    for path, sizes in mappings():
        anonymous = sizes["Anonymous"]
        figures["anonymous"] += anonymous
        rest = sizes["Rss"] - anonymous
        if path.endswith(".box"):
            figures["box"] += rest
        elif path.endswith("liboutlive_hook.so"):
            figures["library"] += rest
        elif path.startswith(("/dev/shm", "/memfd:")):
            figures["shared"] += rest
    print(json.dumps(figures))


def mappings() -> Iterator[tuple[str, dict[str, int]]]:
    """Every mapping of this process: its path and its sizes in bytes."""
    path, sizes = "", {}
    for line in Path("/proc/self/smaps").read_text().splitlines():
        words = line.split()
        if words[0].endswith(":"):
            if words[-1] == "kB":
                sizes[words[0][:-1]] = int(words[1]) * 1024
            continue
        # A new mapping: `start-end flags offset device inode path`.
        if sizes:
            yield path, sizes
        path, sizes = " ".join(words[5:]), {}
    yield path, sizes


if __name__ == "__main__":
    main()
