"""Makes the golden recordings of the current format version, as root: make_recordings.py FOLDER.

Each is a run as `outlive run` leaves it, its boxes compressed, with what `outlive why` said of it
on the day it was made. Made once for each version of the format and never again: later versions
must read them as they are. Paths that would name the machine are replaced.
"""

import json
import lzma
import os
import shutil
import subprocess
import sys
from pathlib import Path

from support import cgroup, paths

# The same on every machine, so that boxes and expectations name no one's folders.
WORKSHOP = Path("/opt/example")
PYTHON = "/usr/bin/python3"
VICTIMS = {
    "out_of_memory": """\
kept = []
while True:
    kept.append(b"x" * 4_000_037)
""",
    "segmentation_fault": """\
import ctypes


def crash():
    ctypes.string_at(8)


kept = bytearray(10_000_019)
crash()
""",
    "uncaught_exception": """\
import threading


def fail():
    raise ValueError("größer als erlaubt")


kept = bytearray(10_000_019)
thread = threading.Thread(target=fail, name="loader")
thread.start()
thread.join()
{}["missing"]
""",
    "worker_killed": """\
import os
import signal


def work():
    kept = bytearray(30_000_017)
    os.kill(os.getpid(), signal.SIGKILL)


worker = os.fork()
if worker == 0:
    work()
_, status = os.waitpid(worker, 0)
raise RuntimeError(f"worker ended with {os.waitstatus_to_exitcode(status)}")
""",
}


def record(name, source, folder):
    """Runs a victim and keeps its run."""
    script = WORKSHOP / "train.py"
    script.write_text(source, encoding="utf-8")
    home = WORKSHOP / "home"
    command = [paths.program(), "run", "--quiet", "--box-size=4MiB", "--", PYTHON, "train.py"]
    environment = {"OUTLIVE_HOME": str(home), "PATH": os.environ["PATH"]}
    with cgroup.limited(cgroup.versions()[0], 300 << 20) as enter:
        subprocess.run(command, env=environment, cwd=WORKSHOP, preexec_fn=enter, check=False)
    [run] = home.glob("runs/*")
    make_anonymous(run / "run.json")
    ask = [paths.program(), "why", "--format", "json"]
    answer = subprocess.run(ask, env=environment, capture_output=True, check=True).stdout
    keep(run, json.loads(answer), folder / name)
    shutil.rmtree(home)


def make_anonymous(path):
    """Takes out of a run's facts what names this machine."""
    facts = json.loads(path.read_text(encoding="utf-8"))
    own = Path(facts["cgroups"][0]["path"])
    facts["cgroups"] = facts["cgroups"][:2]
    facts["machine"]["kernel"] = "6.12.0"
    text = json.dumps(facts, indent=1, ensure_ascii=False)
    text = text.replace(str(own), "/jobs/example").replace(str(own.parent), "/jobs")
    path.write_text(text + "\n", encoding="utf-8")


def keep(run, answer, folder):
    """Copies a run, its boxes compressed, and what was said of it."""
    folder.mkdir(parents=True)
    for box in run.glob("*.box"):
        (folder / f"{box.name}.xz").write_bytes(lzma.compress(box.read_bytes(), preset=9))
    shutil.copy(run / "run.json", folder)
    text = json.dumps(answer, indent=1, ensure_ascii=False)
    (folder / "expected.json").write_text(text + "\n", encoding="utf-8")


def main():
    target = Path(sys.argv[1])
    WORKSHOP.mkdir()
    try:
        for name, source in VICTIMS.items():
            record(name, source, target)
    finally:
        shutil.rmtree(WORKSHOP)


if __name__ == "__main__":
    main()
