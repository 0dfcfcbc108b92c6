"""Frameworks and other allocators give the same results under the hook as without it."""

import sys
from pathlib import Path

import pytest

from support.lab import holders_of, marked_lines
from support.paths import SCRIPTS

LIBRARIES = ["torch", "tensorflow", "jax", "pyarrow", "polars", "scipy", "pandas"]
ALLOCATORS = {"je": "libjemalloc.so.2", "tc": "libtcmalloc_minimal.so.4", "mi": "libmimalloc.so.2"}
FOLDERS = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib"]
HELD = 33_000_001
QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "", "JAX_PLATFORMS": "cpu"}


@pytest.fixture(params=ALLOCATORS)
def allocator(request):
    name = ALLOCATORS[request.param]
    found = [Path(folder, name) for folder in FOLDERS if Path(folder, name).exists()]
    if not found:
        pytest.skip(f"{name} is not installed")
    return request.param, found[0]


@pytest.mark.parametrize("name", LIBRARIES)
def test_a_job_gives_the_same_results(lab, name):
    command = [sys.executable, SCRIPTS / f"job_{name}.py"]
    bare = lab.bare(*command, env=QUIET)
    assert bare.returncode == 0, bare.stderr.decode()
    hooked = lab.hooked(*command, env=QUIET)
    assert (hooked.returncode, hooked.stdout) == (0, bare.stdout)
    recording = lab.box()
    assert recording.is_complete
    files = {frame.file for stack in recording.stacks for frame in stack.frames}
    assert str(SCRIPTS / f"job_{name}.py") in files, "no line of the job itself was recorded"


def test_another_allocator_works_beneath_the_hook(lab, allocator):
    short, library = allocator
    script = SCRIPTS / "job_allocator.py"
    lab.environment["LD_PRELOAD"] = str(library)
    bare = lab.bare(sys.executable, script)
    assert f"allocator ['{short}']".encode() in bare.stdout
    assert lab.hooked(sys.executable, script) == bare
    [holder] = holders_of(lab.box(), HELD)
    assert holder.frames[0].line == marked_lines(script)["hold"]


@pytest.mark.parametrize("name", ["torch", "pyarrow", "polars"])
def test_a_framework_works_on_another_allocator(lab, allocator, name):
    lab.environment["LD_PRELOAD"] = str(allocator[1])
    command = [sys.executable, SCRIPTS / f"job_{name}.py"]
    bare = lab.bare(*command, env=QUIET)
    hooked = lab.hooked(*command, env=QUIET)
    assert (hooked.returncode, hooked.stdout) == (bare.returncode, bare.stdout)


def test_the_users_own_preload_is_kept(lab, allocator):
    lab.environment["LD_PRELOAD"] = str(allocator[1])
    script = SCRIPTS / "job_allocator.py"
    assert lab.supervised(sys.executable, script) == lab.bare(sys.executable, script)
