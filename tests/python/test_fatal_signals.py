"""Deaths by signal: the wait status is the program's own, the verdict and the line are right."""

import signal
import sys

import pytest

from support.lab import marked_lines
from support.paths import SCRIPTS

CALL = SCRIPTS / "call.py"
FAULTS = [
    ("segmentation_fault", signal.SIGSEGV, "segmentation_fault"),
    ("general_protection", signal.SIGSEGV, "general_protection_fault"),
    ("illegal_instruction", signal.SIGILL, "illegal_instruction"),
    ("divide_by_zero", signal.SIGFPE, "divide_error"),
    ("overflow_stack", signal.SIGSEGV, "stack_overflow"),
    ("bus_error", signal.SIGBUS, "bus_error"),
    ("double_free", signal.SIGABRT, "heap_corruption"),
    ("invalid_pointer", signal.SIGABRT, "heap_corruption"),
]
WORD = "Check failed: the boxes do not match"


def die(lab, library, function, *words, **variables):
    """Ends a program by this function, with and without Outlive: both ends must be the same."""
    command = [sys.executable, CALL, library, function, *words]
    bare = lab.bare(*command, env=variables)
    ended = lab.supervised(*command, env=variables)
    assert ended.returncode == bare.returncode
    assert ended.stdout == bare.stdout
    return bare, ended


def line_of_death(answer):
    """File, line and function of the innermost frame of the thread that was struck."""
    frame = answer["threads"][0]["frames"][0]
    return frame["file"], frame["line"], frame["function"]


CALL_LINE = (str(CALL), marked_lines(CALL)["call"], "call")


@pytest.mark.parametrize("faulthandler", [False, True], ids=["plain", "faulthandler"])
@pytest.mark.parametrize(("function", "number", "verdict"), FAULTS, ids=[it[0] for it in FAULTS])
def test_a_fault_is_named_with_its_line(lab, compiler, function, number, verdict, faulthandler):
    variables = {"OUTLIVE_TEST_FAULTHANDLER": "1"} if faulthandler else {}
    arguments = ["1"] if function == "overflow_stack" else []
    bare, _ = die(lab, compiler.library("fault.c"), function, *arguments, **variables)
    assert bare.returncode == -number
    answer = lab.why()
    assert answer["verdict"]["id"] == verdict
    assert answer["verdict"]["confidence"] == "proved"
    assert answer["first_death"]["status"] == {
        "kind": "signaled",
        "number": number,
        "signal": number.name,
    }
    assert line_of_death(answer) == CALL_LINE


@pytest.mark.parametrize("faulthandler", [False, True], ids=["plain", "faulthandler"])
def test_standard_error_is_the_programs_own(lab, compiler, faulthandler):
    variables = {"OUTLIVE_TEST_FAULTHANDLER": "1"} if faulthandler else {}
    library = compiler.library("fault.c")
    bare, ended = die(lab, library, "segmentation_fault", **variables)
    # Addresses of threads differ from run to run.
    assert ended.stderr.splitlines()[:1] == bare.stderr.splitlines()[:1]
    assert len(ended.stderr.splitlines()) == len(bare.stderr.splitlines())


def test_a_fault_in_a_thread_names_the_thread_and_its_line(lab, compiler):
    die(lab, compiler.library("fault.c"), "segmentation_fault", OUTLIVE_TEST_IN_THREAD="1")
    answer = lab.why()
    assert answer["verdict"]["id"] == "segmentation_fault"
    assert line_of_death(answer) == CALL_LINE
    # The main thread waits for the other, or still starts it: its outermost frame is the script.
    [_, waiting] = answer["threads"]
    assert (waiting["frames"][-1]["file"], waiting["frames"][-1]["function"]) == (
        str(CALL),
        "<module>",
    )


def test_a_stack_overflow_in_a_thread_is_recorded(lab, compiler):
    library = compiler.library("fault.c")
    bare, _ = die(lab, library, "overflow_stack", "1", OUTLIVE_TEST_IN_THREAD="1")
    assert bare.returncode == -signal.SIGSEGV
    answer = lab.why()
    assert answer["verdict"]["id"] == "stack_overflow"
    assert line_of_death(answer) == CALL_LINE


@pytest.mark.parametrize("way", ["fputs", "fwrite", "fprintf", "vfprintf", "write"])
def test_the_last_words_of_an_abort_are_kept(lab, compiler, way):
    bare, ended = die(lab, compiler.library("complain.c"), f"complain_{way}", WORD)
    assert bare.returncode == -signal.SIGABRT
    assert ended.stderr == bare.stderr
    verdict = lab.why()["verdict"]
    assert verdict["id"] == "aborted"
    assert any(WORD in line for line in verdict["evidence"]), verdict


def test_the_last_words_of_cxx_are_kept(lab, compiler):
    bare, ended = die(lab, compiler.library("terminate.cpp"), "complain_cerr", WORD)
    assert bare.returncode == -signal.SIGABRT
    assert ended.stderr == bare.stderr
    assert any(WORD in line for line in lab.why()["verdict"]["evidence"])


@pytest.mark.parametrize("function", ["terminate_bad_alloc", "terminate_new"])
def test_a_refused_allocation_in_cxx_is_told_from_other_aborts(lab, compiler, function):
    bare, ended = die(lab, compiler.library("terminate.cpp"), function)
    assert bare.returncode == -signal.SIGABRT
    assert ended.stderr == bare.stderr
    answer = lab.why()
    assert answer["verdict"]["id"] == "cxx_allocation_refused"
    assert line_of_death(answer) == CALL_LINE


def test_another_cxx_exception_is_not_called_out_of_memory(lab, compiler):
    die(lab, compiler.library("terminate.cpp"), "terminate_runtime_error")
    verdict = lab.why()["verdict"]
    assert verdict["id"] == "aborted"
    assert any("boxes do not match" in line for line in verdict["evidence"]), verdict


@pytest.mark.parametrize(
    ("function", "words"),
    [("recover", ["1000"]), ("default_before", []), ("installed_is_seen", [])],
)
def test_handlers_of_the_program_work_as_without_outlive(lab, compiler, function, words):
    bare, ended = die(lab, compiler.library("recover.c"), function, *words)
    assert bare.returncode == 0
    assert ended.stdout == bare.stdout == f"{function} {words[0] if words else 1}\n".encode()
    assert lab.why()["verdict"]["id"] == "finished"


def test_a_fatal_error_of_the_interpreter_is_named(lab):
    command = [sys.executable, "-c", "import ctypes; ctypes.pythonapi.Py_FatalError(b'no way on')"]
    bare = lab.bare(*command)
    assert bare.returncode == -signal.SIGABRT
    assert lab.supervised(*command).returncode == bare.returncode
    verdict = lab.why()["verdict"]
    assert verdict["id"] == "fatal_python_error"
    assert any("no way on" in line for line in verdict["evidence"])
