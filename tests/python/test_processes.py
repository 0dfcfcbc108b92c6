"""Children are recorded however they come to be, and a process whatever it does to itself."""

import ast
import sys

import pytest

from support.lab import holders_of, marked_lines
from support.paths import SCRIPTS

WORKERS = SCRIPTS / "workers.py"
CHAIN = SCRIPTS / "chain.py"
WORKER_SIZE = 21_000_017
CHAIN_SIZE = 17_000_023
BEFORE_SIZE = 3_000_017
FORK_SIZE = 5_000_011


def pids(ended):
    return [int(line.split()[0]) for line in ended.stdout.splitlines()]


def by_pid(lab):
    return {recording.identity.pid: recording for recording in lab.boxes()}


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing_children_are_recorded(lab, method):
    ended = lab.hooked(sys.executable, WORKERS, method)
    assert (ended.returncode, ended.stderr) == (0, b"")
    said = ast.literal_eval(ended.stdout.decode())
    assert [number for number, _, _ in said] == [0, 1, 2]
    recordings = by_pid(lab)
    for number, pid, _ in said:
        [holder] = holders_of(recordings[pid], WORKER_SIZE + number * 1000)
        place = (holder.frames[0].file, holder.frames[0].line, holder.frames[0].function)
        assert place == (str(WORKERS), marked_lines(WORKERS)["hold"], "hold")
        # Python may ask for an arena of small objects at the same line; that part is an estimate.
        assert holder.live_bytes - holder.estimated_bytes == holder.largest


def test_forks_from_threads_neither_hang_nor_lose_a_child(lab):
    script = SCRIPTS / "fork_in_threads.py"
    bare = lab.bare(sys.executable, script)
    assert bare.stdout == b"80 {21}\n"
    assert lab.hooked(sys.executable, script) == bare
    parent, *children = lab.boxes()
    assert len(children) == 80
    for child in children:
        assert child.identity.forked_from == parent.identity.pid
        [holder] = holders_of(child, FORK_SIZE)
        assert holder.frames[0].line == marked_lines(script)["hold"]


def test_a_program_started_through_shells_is_recorded(lab):
    ended = lab.hooked(sys.executable, CHAIN, "shell")
    first, last = pids(ended)
    recordings = by_pid(lab)
    assert set(recordings) == {first, last}, "a shell has nothing to record"
    [before] = holders_of(recordings[first], BEFORE_SIZE)
    [holder] = holders_of(recordings[last], CHAIN_SIZE)
    lines = marked_lines(CHAIN)
    assert (before.frames[0].line, holder.frames[0].line) == (lines["before"], lines["hold"])


def test_a_program_that_becomes_another_is_recorded(lab):
    ended = lab.hooked(sys.executable, CHAIN, "exec")
    before, after = pids(ended)
    assert before == after
    assert any(holders_of(recording, CHAIN_SIZE) for recording in lab.boxes())


def test_a_cleared_environment_is_the_programs_own_choice(lab):
    ended = lab.hooked(sys.executable, CHAIN, "cleared")
    assert ended.returncode == 0
    [pid] = pids(ended)
    assert pid not in by_pid(lab)


@pytest.mark.parametrize("way", ["closed", "moved", "daemon"])
def test_a_program_that_cuts_its_ties_is_still_recorded(lab, way):
    ended = lab.hooked(sys.executable, CHAIN, way)
    assert (ended.returncode, ended.stderr) == (0, b"")
    [pid] = pids(ended)
    [holder] = holders_of(by_pid(lab)[pid], CHAIN_SIZE)
    assert holder.frames[0].line == marked_lines(CHAIN)["hold"]


def test_the_whole_tree_is_in_the_answer(lab):
    ended = lab.supervised(sys.executable, WORKERS, "spawn")
    workers = {pid for _, pid, _ in ast.literal_eval(ended.stdout.decode())}
    answer = lab.why()
    assert answer["verdict"]["id"] == "finished"
    assert workers <= {process["pid"] for process in answer["processes"]}
