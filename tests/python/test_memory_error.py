"""A MemoryError that the program catches stays caught; one that it does not is explained."""

import sys

import pytest

from support.lab import marked_lines
from support.paths import SCRIPTS


@pytest.mark.parametrize("name", ["builtin", "numpy", "limited"])
def test_a_caught_memory_error_stays_caught(lab, name):
    command = [sys.executable, SCRIPTS / f"memory_error_{name}.py"]
    bare = lab.bare(*command)
    assert bare.returncode == 0
    assert b"alive" in bare.stdout
    assert lab.hooked(*command) == bare
    assert lab.supervised(*command) == bare


def test_a_caught_memory_error_is_no_finding(lab):
    lab.supervised(sys.executable, SCRIPTS / "memory_error_builtin.py")
    assert lab.why()["verdict"]["id"] == "finished"


def test_an_uncaught_memory_error_is_explained(lab):
    script = SCRIPTS / "memory_error_uncaught.py"
    bare = lab.bare(sys.executable, script)
    assert bare.returncode == 1
    assert lab.supervised(sys.executable, script) == bare
    answer = lab.why()
    assert answer["verdict"]["id"] == "allocation_refused"
    assert answer["verdict"]["confidence"] == "proved"
    [exception] = answer["exceptions"]
    assert exception["type"] == "MemoryError"
    line = marked_lines(script)["refused"]
    assert exception["traceback"] == [f"{script}:{line} in <module>"]
