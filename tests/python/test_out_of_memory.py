"""Real out-of-memory kills in a cgroup, and ends that only look like one."""

import signal
import sys

import pytest

from support import cgroup
from support.cgroup import MIB
from support.lab import marked_lines
from support.paths import SCRIPTS

# The limit leaves room for the libraries and for a hundred blocks and more.
LIMITS = {
    "python": 300 * MIB,
    "objects": 300 * MIB,
    "numpy": 400 * MIB,
    "torch": 1000 * MIB,
    "tensorflow": 1200 * MIB,
    "loader": 1200 * MIB,
}
ENDS = {
    "sigkill": ("killed_from_outside", -signal.SIGKILL),
    "exit_137": ("exited_with_code", 137),
    "cpu_limit": ("cpu_limit", -signal.SIGKILL),
    "seccomp": ("seccomp", -signal.SIGSYS),
}
OUT_OF_MEMORY = ("memory", "oom", "allocation_refused")
# A framework has more code than the small boxes of the other tests have room for.
DEFAULT_BOX_SIZE = 32 * MIB
QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}


def victim(name):
    return SCRIPTS / f"grow_{name}.py"


def place_of(holder):
    """The line that holds it, by itself or through a thread that was created there."""
    return holder["file"], holder["line"]


@pytest.fixture(params=[1, 2], ids=["v1", "v2"])
def version(request):
    if request.param not in cgroup.versions():
        pytest.skip(f"no memory cgroup (version {request.param}) can be made here")
    return request.param


@pytest.mark.parametrize("name", LIMITS)
def test_a_kill_by_the_kernel_is_proved(lab, name, version):
    script = victim(name)
    with cgroup.limited(version, LIMITS[name]) as enter:
        # The guard would not let it come to that.
        ended = lab.supervised(
            sys.executable,
            script,
            flags=["--no-guard"],
            preexec_fn=enter,
            env=QUIET,
            box_size=DEFAULT_BOX_SIZE,
        )
    answer = lab.why()
    verdict = answer["verdict"]
    assert (verdict["id"], verdict["confidence"]) == ("out_of_memory_cgroup", "proved"), verdict
    root = answer["processes"][0]["pid"]
    if name == "loader":
        # The worker died; the parent noticed and raised.
        assert ended.returncode == 1
        assert answer["first_death"]["pid"] == int(ended.stdout.splitlines()[0]) != root
    else:
        assert ended.returncode == -signal.SIGKILL
        assert answer["first_death"]["pid"] == root
    assert answer["first_death"]["status"]["number"] == signal.SIGKILL
    assert answer["holders_pid"] == answer["first_death"]["pid"]
    held_at = (str(script), marked_lines(script)["hold"])
    assert place_of(answer["holders"][0]) == held_at, answer["holders"]
    assert answer["memory"]["limit"] == LIMITS[name]
    # What is held is most of the limit, not a remnant of it.
    assert answer["holders"][0]["live_bytes"] > LIMITS[name] // 5


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("name", LIMITS)
def test_other_ends_are_never_called_out_of_memory(lab, name, end):
    script = victim(name)
    identifier, code = ENDS[end]
    ended = lab.supervised(sys.executable, script, SCRIPTS / f"end_by_{end}.py", env=QUIET)
    answer = lab.why()
    assert answer["verdict"]["id"] == identifier, answer["verdict"]
    assert not any(word in answer["verdict"]["id"] for word in OUT_OF_MEMORY)
    if name == "loader":
        assert ended.returncode == 1
        assert answer["first_death"]["pid"] == int(ended.stdout.splitlines()[0])
    else:
        assert ended.returncode == code
