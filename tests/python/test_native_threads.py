"""Threads without Python frames are told by name, and by the line that started them."""

import sys

import pytest

from support.lab import marked_lines
from support.paths import SCRIPTS

SCRIPT = SCRIPTS / "native_threads.py"


@pytest.fixture
def threads(lab, compiler):
    ended = lab.supervised(sys.executable, SCRIPT, compiler.library("threads.c"))
    assert ended.returncode == 0
    return [holder for holder in lab.why()["holders"] if holder["kind"] == "thread"]


def test_a_renamed_thread_bears_its_new_name(threads):
    # The first block came before the name, and no other did.
    renamed = [holder["live_bytes"] for holder in threads if holder["thread"] == "renamed"]
    assert sum(renamed) == 49 * 1_000_003


def test_a_line_is_never_charged_with_the_threads_of_another(threads):
    lines = marked_lines(SCRIPT)
    for name, each in (("first", 2_000_003), ("second", 3_000_017)):
        held = sum(it["live_bytes"] for it in threads if it["line"] == lines[name])
        # A thread may be faster than the note of who started it, but has no other one's.
        assert held > 0
        assert held % each == 0
