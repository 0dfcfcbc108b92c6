"""What the set-up of Jupyter adds to a kernel: time to its first answer, and resident memory.

Run it with the Python of an environment that has Jupyter and Outlive. It makes two environments
that differ in `outlive setup jupyter` alone, starts kernels in both by turns as a server would,
and prints the differences within each round as JSON.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

from jupyter_client import AsyncKernelManager
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.provisioning import KernelProvisionerFactory

PROVISIONERS = {"bare": "local-provisioner", "set up": "outlive-provisioner"}
TOLD = {"seconds": "seconds", "pss": "bytes"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=10)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["OUTLIVE_HOME"] = f"{folder}/home"
        os.environ["IPYTHONDIR"] = f"{folder}/ipython"
        pythons = {name: environment(Path(folder) / name, name) for name in PROVISIONERS}
        # The first of each compiles and fills caches.
        asyncio.run(rounds(pythons, 1))
        runs = asyncio.run(rounds(pythons, arguments.rounds))
    print(json.dumps({f"added {unit}": added(runs, what) for what, unit in TOLD.items()}))


def added(runs, what):
    """What the set-up adds within each round."""
    return [run["set up"][what] - run["bare"][what] for run in runs]


def environment(folder, name):
    """Makes an environment with the packages of this one."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    python = folder / "bin" / "python"
    asked = [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    place = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    Path(place, "packages.pth").write_text(sysconfig.get_path("purelib") + "\n")
    if name == "set up":
        subprocess.run([python, "-m", "outlive.jupyter", "setup"], check=True, capture_output=True)
    return python


async def rounds(pythons, count):
    runs = []
    for number in range(count):
        names = list(pythons) if number % 2 == 0 else list(pythons)[::-1]
        runs.append({name: await start(name, pythons[name]) for name in names})
    return runs


async def start(name, python):
    """Starts a kernel, asks it something, looks at its memory, and ends it."""
    KernelProvisionerFactory.instance().default_provisioner_name = PROVISIONERS[name]
    manager = AsyncKernelManager()
    argv = [str(python), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    manager._kernel_spec = KernelSpec(argv=argv, display_name=name, language="python")
    begun = time.monotonic()
    await manager.start_kernel(stderr=subprocess.DEVNULL)
    client = manager.client()
    client.start_channels()
    await client.wait_for_ready()
    await client.execute_interactive("1", allow_stdin=False, output_hook=lambda message: None)
    seconds = time.monotonic() - begun
    processes = list(group(manager.provisioner.pgid))
    memory = {key: sum(rollup(pid)[key] for pid in processes) for key in ("pss", "rss")}
    client.stop_channels()
    await manager.shutdown_kernel()
    return {"seconds": seconds, "processes": len(processes), **memory}


def group(pgid):
    """All processes of a kernel: what is in its process group."""
    for path in Path("/proc").glob("[0-9]*"):
        try:
            words = (path / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(words[2]) == pgid:
            yield int(path.name)


def rollup(pid):
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    words = dict(line.split()[:2] for line in lines)
    return {"pss": int(words["Pss:"]) * 1024, "rss": int(words["Rss:"]) * 1024}


if __name__ == "__main__":
    main()
