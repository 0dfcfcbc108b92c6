"""Every kind of line that can hold memory is named rightly, on every supported CPython."""

import runpy

import pytest

from support import raw_box
from support.lab import holders_of, marked_lines
from support.paths import SCRIPTS

SCRIPT = SCRIPTS / "lines.py"
SMALL = SCRIPTS / "small_blocks.py"
# 400 MB of small blocks are about 760 samples: a standard error of 3.6 %.
SAMPLING_ERROR = 0.2
SIZES = runpy.run_path(str(SCRIPT))["SIZES"]
# The function that holds each block, as Python itself names it; versions differ in two places.
FUNCTIONS = {
    "plain": {"plain"},
    "comprehension": {"comprehension", "comprehension.<locals>.<listcomp>", "<listcomp>"},
    "generator": {"blocks"},
    "generator_expression": {"generators.<locals>.<genexpr>", "<genexpr>"},
    "coroutine": {"coroutine"},
    "decorated": {"decorated"},
    "lambda": {"lambdas.<locals>.<lambda>.<locals>.<lambda>", "<lambda>"},
    "method": {"Holder.__init__", "__init__"},
    "exécuté": {"exécuté"},
    "deep": {"deep"},
}
DEEPEST_FOLLOWED = 96


@pytest.fixture
def recording(lab, interpreter):
    ended = interpreter.hooked(lab, SCRIPT)
    assert (ended.returncode, ended.stderr) == (0, b"")
    recording = lab.box()
    assert recording.identity.attribution == "on"
    assert ".".join(map(str, recording.identity.python[:2])) == interpreter.version
    return recording


def holder(recording, name):
    found = holders_of(recording, SIZES[name])
    assert len(found) == 1, f"{name}: {found}"
    return found[0]


def test_every_kind_of_line_is_named(recording, lab, interpreter):
    lines = marked_lines(SCRIPT)
    file = str(interpreter.inside(lab, lab.folder / SCRIPT.name))
    places = {name: holder(recording, name).frames[0] for name in SIZES}
    named = {name: (frame.file, frame.line) for name, frame in places.items()}
    expected = {name: (file, lines.get(name)) for name in SIZES}
    # These are held by a helper, or by code that has no file.
    expected["multi_line_call"] = (file, lines["take"])
    expected["exec"] = ("<made up>", 3)
    expected["after_long_table"] = ("<long>", 3002)
    assert named == expected
    functions = {name: places[name].function for name in FUNCTIONS}
    assert all(functions[name] in FUNCTIONS[name] for name in FUNCTIONS), functions
    caller = holder(recording, "multi_line_call").frames[1]
    assert caller.line == lines["multi_line_call"]


def test_held_bytes_are_exact(recording):
    for name, size in SIZES.items():
        found = holder(recording, name)
        # Python may ask for an arena of small objects at the same line; that part is an estimate.
        exact = found.live_bytes - found.estimated_bytes
        assert size <= exact <= size + 64, name


def test_small_blocks_of_the_main_thread_are_estimated(lab, interpreter):
    ended = interpreter.hooked(lab, SMALL)
    assert (ended.returncode, ended.stderr) == (0, b"")
    line = marked_lines(SMALL)["small"]
    stacks = [it for it in lab.box().stacks if it.frames and it.frames[0].line == line]
    estimate = sum(stack.live_bytes for stack in stacks)
    assert abs(estimate / int(ended.stdout) - 1) < SAMPLING_ERROR


def test_a_deep_stack_keeps_its_innermost_frames(recording, lab):
    lines = marked_lines(SCRIPT)
    frames = holder(recording, "deep").frames
    assert len(frames) == DEEPEST_FOLLOWED
    assert [frame.line for frame in frames[1:]] == [lines["recursion"]] * (DEEPEST_FOLLOWED - 1)
    [path] = lab.run_folder.glob("*.box")
    flags = raw_box.stack_flags(path)
    cut = {name for name, size in SIZES.items() if flags[size + 1] & raw_box.TRUNCATED}
    assert cut == {"deep"}
