"""A box that is full goes on counting: nothing is lost but the names of the latest lines."""

import sys

from support.lab import holders_of, marked_lines
from support.paths import SCRIPTS

SCRIPT = SCRIPTS / "many_lines.py"
CROWDED = SCRIPTS / "crowded.py"
# 800 MB at a mean distance of 1 MiB are about 760 samples: a standard error of 3.6 %.
SAMPLING_ERROR = 0.2
BEFORE, AFTER = 40_000_003, 50_000_017
KEPT_SMALL = 20 * 140_001


def test_what_finds_no_room_is_counted_as_other(lab):
    ended = lab.hooked(sys.executable, SCRIPT)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"22\n", b"")
    recording = lab.box()
    assert recording.is_complete
    [before] = holders_of(recording, BEFORE)
    assert before.frames[0].line == marked_lines(SCRIPT)["before"]
    assert before.live_bytes == BEFORE + 1
    assert recording.totals.lost_events > 0
    # All bytes are there, whoever holds them.
    assert sum(stack.live_bytes for stack in recording.stacks) == recording.totals.live_bytes
    assert recording.totals.live_bytes >= BEFORE + AFTER + KEPT_SMALL


def test_the_answer_says_that_tables_were_full(lab):
    lab.supervised(sys.executable, SCRIPT)
    [remark] = lab.why()["remarks"]
    assert "no room" in remark
    assert "--box-size" in remark


def test_a_crowded_table_looks_at_fewer_blocks_without_bias(lab):
    ended = lab.hooked(sys.executable, CROWDED)
    assert (ended.returncode, ended.stderr) == (0, b"")
    recording = lab.box()
    line = marked_lines(CROWDED)["later"]
    stacks = [it for it in recording.stacks if it.frames and it.frames[0].line == line]
    estimate = sum(stack.live_bytes for stack in stacks)
    assert abs(estimate / int(ended.stdout) - 1) < SAMPLING_ERROR
    assert recording.totals.lost_events == 0
