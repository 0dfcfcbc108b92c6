"""Stacks are right where the interpreter's lock is not held, on every supported CPython."""

from support.lab import holders_of, marked_lines
from support.paths import SCRIPTS

SCRIPT = SCRIPTS / "gil_released.py"
MAIN_SIZE = 9_437_187
THREAD_SIZE = 9_961_475
SCRYPT_BYTES = 128 * 8 * (1 << 13)


def test_calls_that_released_the_lock_are_named(lab, interpreter):
    ended = interpreter.hooked(lab, SCRIPT)
    assert (ended.returncode, ended.stderr) == (0, b"")
    lines = marked_lines(SCRIPT)
    recording = lab.box()
    for size, name, function in (
        (MAIN_SIZE, "main", "<module>"),
        (THREAD_SIZE, "thread", "in_thread"),
    ):
        [holder] = holders_of(recording, size, slack=1)
        assert (holder.frames[0].line, holder.frames[0].function) == (lines[name], function)
        assert (holder.live_bytes, holder.exact) == (size, True)
    outermost = holders_of(recording, THREAD_SIZE, slack=1)[0].frames[-1].function
    assert outermost.endswith("_bootstrap")


def test_work_of_a_library_is_named(lab, interpreter):
    assert interpreter.hooked(lab, SCRIPT).returncode == 0
    line = marked_lines(SCRIPT)["scrypt"]
    found = [
        stack
        for stack in lab.box().stacks
        if stack.frames and (stack.frames[0].line, stack.frames[0].function) == (line, "derive")
    ]
    assert max(stack.peak_bytes for stack in found) >= SCRYPT_BYTES
    assert sum(stack.live_bytes for stack in found) < SCRYPT_BYTES
