"""What the status bar costs a page whose figures change every second, as while a cell grows.

Two browsers show JupyterLab beside each other, each with a notebook whose cell grows by the same
steps; one of them does not get the labextension. Prints the processor time that the processes of
the other take more, as a share of a processor for each window, as JSON.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests/python"))

from support import jupyterlab
from support.browser import FLAGS, STATUS, opened

EXTENSION = "**/lab/extensions/outlive/**"
WINDOW_SECONDS = 30
# Opening a page and starting a cell is work of its own.
SETTLING_SECONDS = 20
# Below a gibibyte the bar shows mebibytes, so that each step of the cell changes it.
LIMIT = "900MiB"
CELL = """import time
kept = []
while True:
    kept = [*kept, bytearray(8 << 20)] if len(kept) < 60 else []
    time.sleep(1)"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=10)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        environment = jupyterlab.make_environment(Path(folder) / "env")
        assert environment.set_up().returncode == 0
        settings = {"OUTLIVE_LIMIT": LIMIT}
        server = stack.enter_context(jupyterlab.server(environment, Path(folder), settings))
        driver = stack.enter_context(sync_playwright())
        bare = start(stack, driver, server, blocked=EXTENSION)
        guarded = start(stack, driver, server, blocked=None)
        assert (changes(bare), changes(guarded)) == (0, 5)
        time.sleep(SETTLING_SECONDS)
        print(json.dumps({"added": [added(bare, guarded) for _ in range(rounds)]}))


def start(stack, driver, server, blocked):
    """A browser of its own with a notebook that runs, and its processes."""
    before = descendants()
    chromium = driver.chromium.launch(executable_path=jupyterlab.chromium(), args=FLAGS)
    stack.callback(chromium.close)
    name = "bare.ipynb" if blocked else "guarded.ipynb"
    server.write_notebook(name, [CELL])
    notebook = stack.enter_context(opened(chromium, server, name, "bench", blocked=blocked))
    processes = [pid for pid in descendants() - before if is_chromium(pid)]
    notebook.start(1)
    return notebook, processes


def changes(started):
    """How often the figures change within five seconds."""
    notebook, _ = started
    seen = set()
    for _ in range(6):
        seen.add("".join(notebook.page.locator(STATUS).all_inner_texts()))
        notebook.page.wait_for_timeout(1000)
    return len(seen) - 1


def added(bare, guarded):
    """What one browser takes more than the other within the same seconds."""
    before = [processor_seconds(processes) for _, processes in (bare, guarded)]
    time.sleep(WINDOW_SECONDS)
    after = [processor_seconds(processes) for _, processes in (bare, guarded)]
    without, with_item = (end - begin for begin, end in zip(before, after))
    return (with_item - without) / WINDOW_SECONDS


def processor_seconds(processes):
    tasks = [task for pid in processes for task in Path(f"/proc/{pid}/task").glob("*/schedstat")]
    return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9


def is_chromium(pid):
    return b"chrom" in Path(f"/proc/{pid}/cmdline").read_bytes().partition(b"\0")[0]


def descendants():
    """All processes below this one."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    found = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found


main()
