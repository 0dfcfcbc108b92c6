"""`%load_ext outlive` in a plain kernel that Outlive did not start: scenarios survive."""

import ast
import os
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest

from support import cgroup, scenarios
from support.kernels import Kernel
from support.lab import PATIENCE_SECONDS

SURVIVORS = [
    "make_grid_three_channels",
    "grids_in_a_list",
    "numpy_ones",
    "small_objects",
    "tf_shuffle_huge",
    "pandas_merge",
]


@contextmanager
def plain_kernel(lab, group, environment):
    """A kernel in a memory cgroup, started by its own command as VS Code does it."""
    from jupyter_client import BlockingKernelClient
    from jupyter_client.connect import write_connection_file

    file, _ = write_connection_file(str(lab.folder / f"kernel-{os.urandom(4).hex()}.json"))
    words = [sys.executable, "-m", "ipykernel_launcher", "-f", file]
    ours = {**lab.plain_environment(), "IPYTHONDIR": str(lab.folder / "ipython"), **environment}
    process = subprocess.Popen(words, env=ours, cwd=lab.folder, preexec_fn=group.enter)
    client = BlockingKernelClient(connection_file=file)
    client.load_connection_file()
    client.start_channels()
    try:
        wait_for(client, process)
        yield Kernel(None, client), process
    finally:
        client.stop_channels()
        process.kill()
        process.wait()


def wait_for(client, process):
    """Waits for a kernel; its client takes one that is slow to start for dead."""
    until = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            return client.wait_for_ready(timeout=PATIENCE_SECONDS)
        except RuntimeError:
            assert process.poll() is None and time.monotonic() < until


@pytest.mark.parametrize("name", SURVIVORS)
def test_scenarios_survive(lab, name):
    scenario = scenarios.named(name)
    environment = {
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "CUDA_VISIBLE_DEVICES": "",
        "SCENARIO_LIMIT": str(scenario.limit),
    }
    with cgroup.group_of(next(iter(cgroup.versions()), 1), scenario.limit) as group:
        with plain_kernel(lab, group, environment) as (kernel, process):
            kernel.run("kept = 'made before'")
            assert kernel.run("%load_ext outlive").status == "ok"
            ran = kernel.run(f"%run {scenario.path}")
            assert "caught " in ran.text and "survived" in ran.text, (ran.text, ran.traceback)
            assert kernel.value("kept") == "'made before'"
            assert process.poll() is None
        assert group.kills() == 0


def test_an_uncaught_refusal_shows_the_block_and_every_variable_is_there(lab):
    with cgroup.group_of(next(iter(cgroup.versions()), 1), 512 << 20) as group:
        with plain_kernel(lab, group, {}) as (kernel, process):
            kernel.run("%load_ext outlive")
            kernel.run("import numpy\nimages = numpy.ones((100, 1000, 100))")
            ran = kernel.run("doubled = numpy.concatenate([images] * 9)")
            assert ran.status == "error"
            assert "MemoryError" in ran.error
            text = ran.block["text/plain"]
            assert "687 MiB" in text
            assert "images" in text
            assert kernel.value("images.sum()") == "np.float64(10000000.0)"
            assert process.poll() is None
        assert group.kills() == 0


GROWTH = {
    "arrays": "import numpy\nkept = []\nwhile True: kept.append(numpy.ones(100_000, dtype='u1'))",
    "integers": "kept = []\ni = 10**9\nwhile True:\n    kept.append(i); i += 1",
    "large arrays": "import numpy\nkept = []\nwhile True: kept.append(numpy.ones(30 << 20, 'u1'))",
}


@pytest.mark.parametrize("kind", GROWTH)
def test_the_error_is_shown_when_nothing_is_left(lab, kind):
    # To show a traceback IPython parses the source of its frames, which takes memory too.
    with cgroup.group_of(next(iter(cgroup.versions()), 1), 500 << 20) as group:
        with plain_kernel(lab, group, {}) as (kernel, process):
            kernel.run("%load_ext outlive")
            ran = kernel.run(GROWTH[kind])
            assert ran.status == "error"
            assert ran.error.startswith(("OutOfHeadroom", "MemoryError")), ran.text
            assert "Outlive" in ran.block["text/plain"]
            assert kernel.value("len(kept) > 5") == "True"
            assert process.poll() is None
        assert group.kills() == 0


def test_a_library_that_cannot_be_guarded_is_named_by_the_doctor(lab, compiler):
    allocator = compiler.library("own_allocator.c", name="own_allocator")
    own = compiler.library("plugin.c", "-Wl,--no-as-needed", str(allocator), name="plugin_own")
    load = f"import ctypes, os\nctypes.CDLL({str(own)!r}, mode=os.RTLD_DEEPBIND | os.RTLD_NOW)"
    ask = "from outlive.jupyter import unguarded; print(unguarded.libraries())"
    with cgroup.group_of(next(iter(cgroup.versions()), 1), 512 << 20) as group:
        with plain_kernel(lab, group, {}) as (kernel, process):
            kernel.run("%load_ext outlive")
            kernel.run(load)
            told = ast.literal_eval(lab.bare(sys.executable, "-c", ask).stdout.decode())
        assert len(told) == 1
        assert "plugin_own.so is bound to an allocator of its own" in told[0]
        assert told[0].endswith(f"(pid {process.pid})")
    assert ast.literal_eval(lab.bare(sys.executable, "-c", ask).stdout.decode()) == []
