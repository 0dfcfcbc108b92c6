"""Programs that the kernel kills for memory get an exception instead, and go on."""

import signal
import sys

import pytest

from support import cgroup, scenarios
from support.causes import assert_cause
from support.cgroup import MIB

# A framework has more code than the small boxes of other tests have room for.
DEFAULT_BOX_SIZE = 32 * MIB
QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
# TensorFlow has two allocators for the processor: one that pools, which is the default and waits
# ten seconds before it gives up, and a plain one.
PLAIN_ALLOCATOR = {"TF_ENABLE_ONEDNN_OPTS": "0"}
EXPLAINED = ("allocation_refused", "growth_stopped")


@pytest.fixture(params=[scenario.name for scenario in scenarios.found()])
def scenario(request):
    return scenarios.named(request.param)


@pytest.fixture
def group(scenario):
    version = next(iter(cgroup.versions()), 1)
    with cgroup.group_of(version, scenario.limit) as made:
        yield made


def settings(scenario, **more):
    return {**QUIET, "SCENARIO_LIMIT": str(scenario.limit), **more}


def guarded(lab, scenario, group, **more):
    return lab.supervised(
        sys.executable,
        scenario.path,
        preexec_fn=group.enter,
        env=settings(scenario, **more),
        box_size=DEFAULT_BOX_SIZE,
    )


def lines_in(traceback, path):
    """The lines of one file in a traceback as `why` tells it, outermost first."""
    places = [entry.partition(" in ")[0].rpartition(":") for entry in traceback]
    return [int(line) for file, _, line in places if file == str(path)]


def lines_named(answer, path):
    """The lines of one file that an answer names: who asked, who asked last, who holds most."""
    asked = [line for told in answer["exceptions"] for line in lines_in(told["traceback"], path)]
    last = answer["growth"]["last_large"]
    places = [*answer["holders"][:1], *([last["place"]] if last else [])]
    return {*asked, *(place["line"] for place in places if place["file"] == str(path))}


def test_bare_the_kernel_kills_it(lab, scenario, group):
    ended = lab.bare(sys.executable, scenario.path, preexec_fn=group.enter, env=settings(scenario))
    if scenario.header["bare"] == "raises":
        # More than the kernel promises to anyone: it says no by itself.
        assert (ended.returncode, group.kills()) == (0, 0), ended.stderr.decode()
        return
    assert group.kills() > 0, ended
    if scenario.header["bare"] == "killed":
        assert ended.returncode == -signal.SIGKILL


def test_guarded_it_catches_an_error_and_goes_on(lab, scenario, group, record_property):
    ended = guarded(lab, scenario, group)
    record_property("peak_of_limit", group.peak() / scenario.limit)
    assert group.kills() == 0
    assert ended.returncode == 0, ended.stderr.decode()
    *_, caught, survived = ended.stdout.decode().splitlines()
    assert caught.startswith("caught ")
    assert survived == "survived"


def test_uncaught_the_error_is_explained(lab, scenario, group):
    if scenario.header.get("uncaught") == "no":
        # Its workers live on while the parent ends, and their shared pages part: the kernel may
        # take a worker then, after the error was told.
        pytest.skip("what is shared parts when the parent ends")
    ended = guarded(lab, scenario, group, SCENARIO_CATCH="0", **PLAIN_ALLOCATOR)
    assert group.kills() == 0
    assert ended.returncode == 1, ended.stderr.decode()
    answer = lab.why()
    assert answer["verdict"]["id"] in EXPLAINED, answer["verdict"]
    if scenario.header["bare"] != "worker":
        # A worker hands its exception to the parent, and has none that nobody caught.
        [exception] = answer["exceptions"]
        assert {*lines_in(exception["traceback"], scenario.path)} & scenario.reach(), exception
    assert lines_named(answer, scenario.path) & scenario.guilty_lines(), answer["holders"]
    assert_cause(answer, scenario)


@pytest.mark.parametrize("scenario", ["tf_parallel_map"], indirect=True)
def test_threads_that_go_on_while_python_ends_are_refused_too(lab, scenario, group):
    # The pooling allocator lets them wait; when Python ends they have yet to get their memory.
    ended = guarded(lab, scenario, group, SCENARIO_CATCH="0")
    assert group.kills() == 0
    assert ended.returncode == 1, ended.stderr.decode()
    assert lab.why()["verdict"]["id"] == "allocation_refused"
