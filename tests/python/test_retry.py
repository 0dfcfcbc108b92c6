"""`outlive.retry`: what it catches, what it frees, how it shrinks, and what it leaves alone."""

import asyncio
import ctypes
import functools
import gc
import itertools
import logging
import operator
import signal
import sys
import threading
import traceback
import weakref
from collections import deque

import pytest

import outlive
from support import cgroup
from support.paths import SCRIPTS

MIB = 1 << 20
GIB = 1 << 30
QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "", "JAX_PLATFORMS": "cpu"}
# By what runs out: the type that arrives. NumPy's error cannot be made again from its message, so
# a loader sends another type.
ERRORS = {
    "builtin": "MemoryError",
    "mapping": "OSError",
    "numpy": "MemoryError",
    "pyarrow": "ArrowMemoryError",
    "torch": "RuntimeError",
    "jax": "JaxRuntimeError",
    "tensorflow": "ResourceExhaustedError",
    "tf_data": "ResourceExhaustedError",
    "loader_builtin": "MemoryError",
    "loader_numpy": "RuntimeError",
    "loader_torch": "RuntimeError",
}


class Held:
    """Stands for a tensor in a local variable."""


def run_out():
    """Raises a MemoryError of the interpreter's own."""
    bytearray(1 << 60)


def sizes_tried(largest_that_fits, raised=run_out, **starts):
    """Runs a series of attempts and gives what each one was called with."""
    tried = []
    for attempt in outlive.retry(**starts):
        with attempt:
            tried.append(tuple(attempt.arguments.values()))
            if sum(tried[-1]) > largest_that_fits:
                raised()
    return tried


@pytest.mark.parametrize("kind", ERRORS)
def test_an_error_of_any_framework_is_recognised_and_its_frames_are_dropped(lab, kind):
    # TensorFlow waits ten seconds for memory each time before it raises: one failure is enough.
    sizes = [64, 32] if ERRORS[kind] == "ResourceExhaustedError" else [64, 32, 16, 8]
    script = SCRIPTS / "retry_framework.py"
    ended = lab.bare(sys.executable, script, kind, str(sizes[-1]), env=QUIET)
    assert ended.returncode == 0, ended.stderr.decode()
    tried = " ".join(map(str, [sizes[-1], *sizes]))
    assert ended.stdout.decode().splitlines() == [tried, f"{ERRORS[kind]} 0"]
    told = [line for line in ended.stderr.decode().splitlines() if "ran out of memory" in line]
    assert [line.partition(" (")[0] for line in told] == [
        f"`train` ran out of memory with batch_size={size}: trying again with batch_size={smaller}"
        for size, smaller in zip(sizes, sizes[1:])
    ]


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_memory_of_a_failed_attempt_is_there_for_the_next(lab, library):
    # 64 units are 640 MiB: one block fits, two do not, and with the first of them kept not even
    # the smallest batch does.
    script = SCRIPTS / "retry_limited.py"
    wrong = lab.bare(sys.executable, script, library, "wrongly", "700", env=QUIET)
    right = lab.bare(sys.executable, script, library, "rightly", "700", env=QUIET)
    assert (wrong.returncode, wrong.stdout) == (1, b""), wrong.stderr.decode()
    assert (right.returncode, right.stdout) == (0, b"2 64 32\n"), right.stderr.decode()


@pytest.mark.parametrize(("library", "limit"), [("numpy", 1000 * MIB), ("torch", 1300 * MIB)])
def test_under_the_guard_a_batch_that_the_kernel_would_kill_is_made_to_fit(lab, library, limit):
    command = [sys.executable, SCRIPTS / "retry_limited.py", library, "rightly", "0"]
    [version, *_] = cgroup.versions() or pytest.skip("no memory cgroup can be made here")
    with cgroup.group_of(version, limit) as group:
        bare = lab.bare(*command, preexec_fn=group.enter, env=QUIET)
        assert (bare.returncode, group.kills()) == (-signal.SIGKILL, 1)
        guarded = lab.supervised(*command, preexec_fn=group.enter, env=QUIET)
        assert group.kills() == 1
    assert guarded.returncode == 0, guarded.stderr.decode()
    result, *sizes = map(int, guarded.stdout.split())
    assert (result, sizes[0]) == (2, 64)
    # By the guard's figures and not by halves: what fits is found at once, or after one more.
    assert len(sizes) <= 3
    assert 32 < sizes[-1] < 64
    assert b"ran out of memory with batch_size=64: trying again with" in guarded.stderr
    assert b"(asked for 640 MiB with " in guarded.stderr


def test_no_framework_is_imported(lab):
    program = (
        "import sys, outlive\nfor a in outlive.retry(n=4):\n with a: a.n < 4 or bytearray(1<<60)"
    )
    asked = "print(*{'torch', 'tensorflow', 'jax', 'pyarrow', 'numpy'} & set(sys.modules))"
    ended = lab.bare(sys.executable, "-c", f"{program}\n{asked}")
    assert (ended.returncode, ended.stdout) == (0, b"\n"), ended.stderr.decode()


@pytest.mark.parametrize(
    "error",
    [
        ValueError("out of memory"),
        RuntimeError("cuDNN error: CUDNN_STATUS_NOT_SUPPORTED"),
        RuntimeError("CUDA error: device-side assert triggered"),
        RuntimeError("DataLoader worker (pid 7) is killed by signal: Killed"),
        OSError(28, "No space left on device"),
        KeyboardInterrupt(),
        SystemExit(3),
    ],
    ids=lambda error: f"{type(error).__name__}-{error}",
)
def test_another_error_passes_at_once_and_untouched(error, caplog):
    calls = []

    @outlive.retry(batch_size=64)
    def train(batch_size):
        calls.append(batch_size)
        raise error

    with pytest.raises(type(error)) as caught:
        train()
    assert caught.value is error
    assert calls == [64]
    assert not hasattr(error, "__notes__")
    assert traceback.extract_tb(error.__traceback__)[-1].name == "train"
    assert caplog.records == []


@pytest.mark.parametrize(
    "message",
    [
        "CUDA out of memory. Tried to allocate 20.00 GiB",
        "CUDA error: out of memory",
        "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
        "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 8589934592 bytes.",
        "Caught OutOfHeadroom in DataLoader worker process 0.\nOriginal Traceback",
    ],
)
def test_errors_that_need_a_gpu_or_a_worker_are_known_by_their_words(message):
    def raised():
        raise RuntimeError(message)

    assert sizes_tried(32, raised, batch_size=64) == [(64,), (32,)]


def test_the_floor_gives_the_error_of_the_last_attempt_with_its_traceback():
    raised = []

    @outlive.retry(batch_size=16, at_least=4)
    def train(batch_size):
        try:
            run_out()
        except MemoryError as error:
            raised.append(error)
            raise

    with pytest.raises(MemoryError) as caught:
        train()
    assert len(raised) == 3
    assert caught.value is raised[-1]
    names = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert names[-2:] == ["train", "run_out"]
    if sys.version_info >= (3, 11):
        note = "`outlive.retry` gave up at batch_size=4 after attempt 3"
        assert caught.value.__notes__ == [note]
    assert [error.__traceback__ for error in raised[:-1]] == [None, None]


@pytest.mark.parametrize(
    ("call", "start"),
    [
        (lambda train: train("model"), 64),
        (lambda train: train("model", 40), 40),
        (lambda train: train("model", batch_size=24), 24),
        (lambda train: train(batch_size=20, model="model"), 20),
    ],
    ids=["default", "by position", "by name", "all by name"],
)
def test_a_value_that_the_caller_passes_is_the_start(call, start):
    tried = []

    @outlive.retry(batch_size=64)
    def train(model, batch_size=None, *, rate=0.1):
        assert (model, rate) == ("model", 0.1)
        tried.append(batch_size)
        if len(tried) == 1:
            run_out()
        return batch_size

    assert call(train) == start // 2
    assert tried == [start, start // 2]
    assert train.__name__ == "train"


def test_methods_and_functions_of_any_names_are_wrapped():
    class Trainer:
        @outlive.retry(batch_size=8)
        def train(self, batch_size):
            return self, batch_size

    @outlive.retry(batch_size=8)
    def forward(**settings):
        return settings

    trainer = Trainer()
    assert trainer.train() == (trainer, 8)
    assert trainer.train(3) == (trainer, 3)
    assert forward(rate=1) == {"rate": 1, "batch_size": 8}


def test_a_coroutine_is_tried_again():
    held = []

    @outlive.retry(batch_size=64)
    async def train(batch_size):
        assert all(reference() is None for reference in held)
        kept = Held()
        held.append(weakref.ref(kept))
        await asyncio.sleep(0)
        if batch_size > 16:
            run_out()
        return batch_size

    assert asyncio.iscoroutinefunction(train)
    assert asyncio.run(train()) == 16
    held.clear()
    assert asyncio.run(train(8)) == 8


def test_of_several_arguments_the_first_is_shrunk_to_its_floor_then_the_next():
    tried = sizes_tried(5, batch_size=8, workers=8, at_least={"batch_size": 2})
    assert tried == [(8, 8), (4, 8), (2, 8), (2, 4), (2, 2)]


@pytest.mark.parametrize(
    ("requested", "headroom", "expected"),
    [
        # As measured: a quarter of what is needed is there, less a margin.
        (4 * GIB, 1 * GIB, [64, 15, 3, 1]),
        # A step is at least a tenth, then a fifth, two fifths, a half.
        (1000 * MIB, 999 * MIB, [64, 57, 45, 27, 13, 6, 3, 1]),
        (1000 * GIB, 0, [64, 1]),
        # Stopped growth has no request: halved.
        (None, 1 * MIB, [64, 32, 16, 8, 4, 2, 1]),
    ],
)
def test_the_step_follows_what_was_measured(requested, headroom, expected):
    tried = []
    with pytest.raises(outlive.OutOfHeadroom):
        for attempt in outlive.retry(batch_size=64):
            with attempt:
                tried.append(attempt.batch_size)
                raise outlive.OutOfHeadroom(requested=requested, headroom=headroom)
    assert tried == expected


def test_a_loop_ends_after_the_first_success():
    assert sizes_tried(1000, batch_size=64) == [(64,)]
    assert sizes_tried(20, batch_size=64) == [(64,), (32,), (16,)]


def test_a_block_that_is_left_early_has_succeeded():
    for number in itertools.count():
        for attempt in outlive.retry(batch_size=64):
            with attempt:
                if number == 0:
                    continue
                break
        assert attempt.outcome == "succeeded"
        assert attempt.batch_size == 64
        if number == 1:
            return


def test_an_attempt_must_be_entered():
    with pytest.raises(RuntimeError, match="not entered\nhint: put the work into `with attempt:`"):
        for attempt in outlive.retry(batch_size=64):
            assert attempt.batch_size == 64


def test_an_error_that_is_being_handled_outside_keeps_its_frames():
    def fail():
        kept = Held()
        raise ValueError(kept)

    try:
        fail()
    except ValueError as error:
        assert sizes_tried(8, batch_size=16) == [(16,), (8,)]
        frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
        assert "kept" in frames[-1].f_locals


def test_chained_errors_lose_their_frames_too():
    held = []

    def attempted(batch_size):
        assert all(reference() is None for reference in held)
        kept = Held()
        held.append(weakref.ref(kept))
        try:
            if batch_size > 8:
                run_out()
        except MemoryError as error:
            try:
                raise ValueError("cleaning up failed") from error
            except ValueError:
                raise MemoryError("again")

    outlive.retry(batch_size=32)(attempted)()
    assert len(held) == 3


def test_cycles_are_collected_before_the_next_attempt():
    held = []

    @outlive.retry(batch_size=16)
    def train(batch_size):
        assert all(reference() is None for reference in held)
        kept = Held()
        kept.itself = kept
        held.append(weakref.ref(kept))
        if batch_size > 8:
            run_out()

    gc.disable()
    try:
        train()
    finally:
        gc.enable()
    assert len(held) == 2


def test_a_traceback_that_someone_kept_holds_no_variables():
    held = []
    tracebacks = []

    @outlive.retry(batch_size=16)
    def train(batch_size):
        assert all(reference() is None for reference in held)
        kept = Held()
        held.append(weakref.ref(kept))
        try:
            if batch_size > 8:
                run_out()
        except MemoryError as error:
            tracebacks.append(error.__traceback__)
            raise

    train()
    assert (len(held), len(tracebacks)) == (2, 1)


def test_free_memory_goes_back_to_the_system(lab):
    ended = lab.bare(sys.executable, SCRIPTS / "retry_trims.py")
    assert ended.returncode == 0, ended.stderr.decode()
    filled, kept, after = map(int, ended.stdout.split())
    # The C library keeps what was freed below a block that is still in use.
    assert kept > filled * 0.9
    assert after < filled * 0.3


@pytest.mark.skipif(sys.version_info < (3, 11), reason="`operator.call` is of Python 3.11")
def test_a_stop_that_comes_on_top_of_an_error_does_not_get_past_the_block():
    # Posted from native code which then fails: it is pending while the error goes up.
    post = functools.partial(
        ctypes.pythonapi.PyThreadState_SetAsyncExc,
        ctypes.c_ulong(threading.get_ident()),
        ctypes.py_object(outlive.OutOfHeadroom),
    )
    both = [post, functools.partial(bytearray, 1 << 60)]

    def raised():
        deque(map(operator.call, both), maxlen=0)

    assert sizes_tried(8, raised, batch_size=32) == [(32,), (16,), (8,)]


def test_threads_share_a_wrapped_function():
    barrier = threading.Barrier(2)
    tried = {}

    @outlive.retry(batch_size=64)
    def train(name, fits, batch_size):
        barrier.wait(timeout=60)
        tried.setdefault(name, []).append(batch_size)
        if batch_size > fits:
            run_out()

    threads = [
        threading.Thread(target=train, args=("first", 16), kwargs={"batch_size": 64}),
        threading.Thread(target=train, args=("second", 2), kwargs={"batch_size": 8}),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert tried == {"first": [64, 32, 16], "second": [8, 4, 2]}


def test_it_says_what_it_did_in_one_line(caplog):
    error = outlive.OutOfHeadroom(requested=4 * GIB, headroom=GIB, budget=8 * GIB)

    @outlive.retry(batch_size=64)
    def train(batch_size):
        if batch_size == 64:
            raise error

    with caplog.at_level(logging.WARNING, logger="outlive"):
        train()
    assert caplog.messages == [
        "`train` ran out of memory with batch_size=64: trying again with batch_size=15 "
        "(asked for 4.0 GiB with 1.0 GiB of headroom left)"
    ]


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (lambda: outlive.retry(), ValueError, "No argument to shrink\nhint: name one"),
        (lambda: outlive.retry(n=0), ValueError, "Start of `n` is 0, below its floor 1"),
        (lambda: outlive.retry(n=1.5), TypeError, "`n` must be a whole number .* not `1.5`"),
        (lambda: outlive.retry(n=True), TypeError, "`n` must be a whole number .* not `True`"),
        (lambda: outlive.retry(n=2, at_least={"m": 1}), ValueError, "Floor for `m`"),
        (lambda: outlive.retry(n=2)(lambda m: m), TypeError, "has no argument `n`"),
        (lambda: outlive.retry(n=2)(lambda n: (yield)), TypeError, "is a generator"),
        (lambda: outlive.retry(n=2)(lambda n: n)(None), TypeError, "not `None`"),
    ],
)
def test_what_makes_no_sense_gets_one_clear_line(make, kind, message):
    with pytest.raises(kind, match=message):
        make()
