"""Many threads at once: what a line is said to hold is what it holds."""

import json
import sys

import pytest

from support.lab import Lab, marked_lines
from support.paths import SCRIPTS

SCRIPT = SCRIPTS / "threads_for_long.py"
SECONDS = 60
# 512 MB of small blocks are about a thousand samples: a standard error of 3.2 %.
SAMPLING_ERROR = 0.15


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    lab = Lab(tmp_path_factory.mktemp("threads"))
    ended = lab.hooked(sys.executable, SCRIPT, str(SECONDS))
    assert (ended.returncode, ended.stderr) == (0, b"")
    return lab.box(), json.loads(ended.stdout)


def live_bytes(recording, name):
    line = marked_lines(SCRIPT)[name]
    stacks = [it for it in recording.stacks if it.frames and it.frames[0].line == line]
    return sum(stack.live_bytes for stack in stacks if stack.frames[0].file == str(SCRIPT))


def test_large_blocks_are_counted_to_the_byte(finished):
    recording, held = finished
    assert live_bytes(recording, "large") == held["large"]


def test_small_blocks_are_estimated_without_bias(finished):
    recording, held = finished
    estimate = live_bytes(recording, "small")
    assert abs(estimate / held["small"] - 1) < SAMPLING_ERROR


def test_nothing_was_lost(finished):
    recording, _ = finished
    assert (recording.totals.lost_events, recording.totals.lost_bytes) == (0, 0)
