"""A box that is full goes on counting: nothing is lost but the names of the latest lines."""

import sys

from support.lab import holders_of, marked_lines
from support.paths import SCRIPTS

SCRIPT = SCRIPTS / "many_lines.py"
BEFORE, AFTER = 40_000_003, 50_000_017
KEPT_SMALL = 20 * 70_001


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
