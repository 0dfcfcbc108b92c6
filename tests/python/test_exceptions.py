"""Exceptions that nobody caught are recorded, with thread, type, message and lines."""

import sys

import pytest

from support.lab import marked_lines
from support.paths import SCRIPTS

SCRIPT = SCRIPTS / "exceptions.py"


def test_exceptions_of_all_threads_are_recorded(lab, interpreter):
    ended = interpreter.hooked(lab, SCRIPT)
    assert ended.returncode == 1
    file = interpreter.inside(lab, lab.folder / SCRIPT.name)
    lines = marked_lines(SCRIPT)
    found = {exception.kind: exception for exception in lab.box().exceptions}
    in_thread = found["thread"]
    assert in_thread.type_name == "ValueError"
    assert in_thread.message.startswith("größer als erlaubt: \N{PILE OF POO}")
    assert in_thread.thread == "lader ü"
    assert in_thread.traceback[-1] == f"{file}:{lines['thread']} in fail_in_thread"
    main = found["main"]
    assert (main.type_name, main.message, main.thread) == ("KeyError", "'missing'", "MainThread")
    assert main.traceback == [
        f"{file}:{lines['caller']} in <module>",
        f"{file}:{lines['main']} in fail",
    ]


def test_threads_from_before_the_module_are_no_obstacle(lab, interpreter):
    interpreter.hooked(lab, SCRIPTS / "thread_before_module.py")
    [exception] = lab.box().exceptions
    assert (exception.kind, exception.type_name) == ("thread", "ValueError")


def test_code_without_builtins_is_no_obstacle(lab):
    # So little runs before it that the hook gets its first turn inside.
    growing = "size = 1 << 20\nwhile size < 2 << 20:\n  size += 1 << 16\n  kept = b'x' * size"
    program = f"exec({growing!r}, {{'__builtins__': {{}}}})\nraise KeyError('missing')"
    lab.supervised(sys.executable, "-I", "-S", "-c", program)
    [exception] = lab.why()["exceptions"]
    assert exception["type"] == "KeyError"


def test_the_output_is_the_programs_own(lab):
    bare = lab.bare(sys.executable, SCRIPT)
    supervised = lab.supervised(sys.executable, SCRIPT)
    # The address of the object whose destructor failed differs from run to run.
    assert supervised.returncode == bare.returncode == 1
    assert [line for line in supervised.stderr.splitlines() if b" at 0x" not in line] == [
        line for line in bare.stderr.splitlines() if b" at 0x" not in line
    ]


def test_the_one_that_ended_the_program_is_the_verdict(lab):
    lab.supervised(sys.executable, SCRIPT)
    answer = lab.why()
    assert answer["verdict"]["id"] == "uncaught_exception"
    assert answer["verdict"]["confidence"] == "proved"
    assert "KeyError" in answer["verdict"]["summary"]


@pytest.mark.parametrize(
    "end", ["import sys; sys.exit(3)", "raise SystemExit('no')", "import os; os._exit(4)"]
)
def test_an_exit_is_no_exception(lab, end):
    lab.supervised(sys.executable, "-c", end)
    answer = lab.why()
    assert answer["verdict"]["id"] == "exited_with_code"
    assert answer["exceptions"] == []


def test_an_exception_that_was_caught_is_none(lab):
    caught = "try:\n  1 / 0\nexcept ZeroDivisionError:\n  pass"
    lab.supervised(sys.executable, "-c", caught)
    answer = lab.why()
    assert (answer["verdict"]["id"], answer["exceptions"]) == ("finished", [])
