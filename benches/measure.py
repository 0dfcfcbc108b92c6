"""Runs one command and prints what it cost, as one JSON line.

Usage: `measure.py [--memory] [--cwd FOLDER] [--stdin FILE] -- COMMAND…`.

Wall and processor time come from `wait4`: the process and every descendant that was waited for.
With `--memory` the tree is looked at 25 times a second for its anonymous memory; that
disturbs the clock, so a run is either timed or looked at, never both.
"""

import argparse
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO

#: Seconds between two looks at the tree's memory.
LOOK_EVERY = 0.04


def main() -> int:
    """Measures the command given on the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--cwd", default=None)
    parser.add_argument("--stdin", type=argparse.FileType("rb"), default=subprocess.DEVNULL)
    parser.add_argument("command", nargs="+")
    arguments = parser.parse_args()
    started = time.perf_counter()
    child = subprocess.Popen(
        arguments.command,
        cwd=arguments.cwd,
        stdin=arguments.stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert child.stdout is not None and child.stderr is not None
    output, errors = Drain(child.stdout), Drain(child.stderr)
    peak = watch(child.pid) if arguments.memory else None
    _, status, usage = os.wait4(child.pid, 0)
    figures = {
        "wall_seconds": time.perf_counter() - started,
        "user_seconds": usage.ru_utime,
        "system_seconds": usage.ru_stime,
        # Not less than this script's own: the kernel carries the figure over an `exec`.
        "peak_resident_bytes": usage.ru_maxrss * 1024,
        "exit": os.waitstatus_to_exitcode(status),
        "peak_anonymous_bytes": peak,
        **body_figures(output.text()),
        "complaint": errors.text()[-800:],
    }
    print(json.dumps(figures))
    return 0


class Drain(threading.Thread):
    """Reads a pipe to its end, so that the program never waits for us."""

    def __init__(self, pipe: IO[bytes]) -> None:
        super().__init__(daemon=True)
        self.pipe, self.read = pipe, b""
        self.start()

    def run(self) -> None:
        """Blocks in `read`: it costs nothing while the program is silent."""
        self.read = self.pipe.read()

    def text(self) -> str:
        """Everything that was written."""
        self.join()
        return self.read.decode(errors="replace")


def body_figures(output: str) -> dict[str, float]:
    """The figures a workload printed about its own body; tools may have printed after it."""
    for line in reversed(output.splitlines()):
        if line.startswith('{"body_seconds"'):
            return json.loads(line)
    return {}


def watch(root: int) -> int:
    """Looks at the tree until its root has ended; returns the highest anonymous memory seen."""
    peak = 0
    while os.waitid(os.P_PID, root, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        peak = max(peak, sum(anonymous_bytes(pid) for pid in tree(root)))
        time.sleep(LOOK_EVERY)
    return peak


def tree(root: int) -> list[int]:
    """The process and all its descendants."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            # The name, in brackets, may hold anything; the parent is the second field behind it.
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:  # It ended while we looked.
            continue
        children.setdefault(parent, []).append(int(stat.parent.name))
    found = [root]
    for pid in found:
        found.extend(children.get(pid, []))
    return found


def anonymous_bytes(pid: int) -> int:
    """Anonymous memory of one process; a page shared by a fork counts once over the tree."""
    try:
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0
    kibibytes = (line.split()[1] for line in rollup.splitlines() if line.startswith("Pss_Anon:"))
    return sum(int(number) for number in kibibytes) * 1024


if __name__ == "__main__":
    sys.exit(main())
