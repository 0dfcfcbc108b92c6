"""With Outlive around it a program does what it does without: codes, signals, bytes, `errno`."""

import os
import signal
import subprocess
import sys

import pytest

from support import paths
from support.paths import SCRIPTS

PROGRAMS = {
    "success": "print('done')",
    "code 3": "import sys; sys.exit(3)",
    "code 255": "import os; os._exit(255)",
    "message": "import sys; sys.exit('no luck')",
    "exception": "raise ValueError('wrong')",
    "in a thread": "import threading; threading.Thread(target=lambda: 1 / 0).start()",
    "sigterm": "import os; os.kill(os.getpid(), 15)",
    "sigint": "import os; os.kill(os.getpid(), 2)",
    "sigusr1": "import os; os.kill(os.getpid(), 10)",
    "sigkill": "import os; os.kill(os.getpid(), 9)",
    "binary": "import sys; sys.stdout.buffer.write(bytes(range(256)) * 999)",
    "both streams": "import os; [os.write(1 + n % 2, b'%d ' % n) for n in range(2000)]",
    "recursion": "def f(): f()\nf()",
    "atexit": "import atexit; atexit.register(print, 'bye'); raise SystemExit(9)",
    "excepthook": "import sys; sys.excepthook = lambda *a: print('mine', a[1]); 1 / 0",
    # The one module that recording imports is built in and has no effect of its own.
    "modules": "import sys; print(sorted(set(sys.modules) - {'atexit'}))",
    "handlers": "import signal; print([signal.getsignal(n) for n in range(1, 32)])",
    "references": "import gc, sys; gc.collect(); print(sys.getrefcount(sys), dir(__builtins__))",
    "trace": "import sys; print(sys.gettrace(), sys.getprofile(), sys.getrecursionlimit())",
    "stderr closed": "import os; os.close(2); print('fine')",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_ends_as_it_would_alone(lab, name):
    command = [sys.executable, "-c", PROGRAMS[name]]
    bare = lab.bare(*command)
    assert lab.hooked(*command) == bare
    assert lab.supervised(*command) == bare


def test_the_allocator_keeps_its_promises(lab, compiler):
    command = [sys.executable, SCRIPTS / "call.py", compiler.library("edges.c"), "edges"]
    bare = lab.bare(*command)
    assert bare.returncode == 0, bare.stderr
    assert lab.hooked(*command) == bare
    assert b"errno after free 1234\n" in bare.stdout


def test_reserved_address_space_is_no_memory(lab):
    reserve = "import mmap; m = mmap.mmap(-1, 1 << 42, prot=0); import os; os._exit(0)"
    command = [sys.executable, "-c", reserve]
    assert lab.hooked(*command) == lab.bare(*command)
    assert lab.box().totals.peak_bytes < 1 << 32


def test_standard_input_is_the_programs(lab):
    command = [sys.executable, "-c", "import sys; print(sum(map(int, sys.stdin)))"]
    numbers = b"".join(b"%d\n" % number for number in range(10_000))
    bare = lab.bare(*command, input=numbers)
    assert lab.supervised(*command, input=numbers) == bare


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGHUP])
def test_a_signal_reaches_the_program_once(lab, number):
    script = SCRIPTS / "count_signals.py"
    victim = subprocess.Popen(
        [paths.program(), "run", "--quiet", "--", sys.executable, script, str(int(number))],
        env=lab.plain_environment(),
        stdout=subprocess.PIPE,
        stdin=subprocess.PIPE,
        start_new_session=True,
    )
    assert victim.stdout.readline() == b"ready\n"
    os.kill(victim.pid, number)
    assert victim.stdout.readline() == b"got 1\n"
    said, _ = victim.communicate(b"\n")
    assert (said, victim.returncode) == (b"in all 1\n", 7)


def test_a_terminal_stays_a_terminal(lab):
    script = "import os; print([os.isatty(n) for n in (0, 1, 2)])"
    inner = f"{paths.program()} run --quiet -- {sys.executable} -c '{script}'"
    ended = lab.bare("script", "-qec", inner, "/dev/null", stdin=subprocess.DEVNULL)
    assert b"[True, True, True]" in ended.stdout


@pytest.mark.parametrize(
    ("command", "code"), [(["no-such-program"], 127), (["/etc/passwd"], 126), (["/"], 126)]
)
def test_a_program_that_cannot_start_ends_as_in_a_shell(lab, command, code):
    ended = lab.supervised(*command, quiet=False)
    assert ended.returncode == code
    assert len(ended.stderr.splitlines()) == 1
    assert command[0].encode() in ended.stderr
