"""SIGKILL at any instant leaves a box that opens and names the line that held most."""

import os
import random
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import outlive
from support import paths
from support.lab import Lab, marked_lines
from support.paths import SCRIPTS

SCRIPT = SCRIPTS / "kill_me.py"
HOLD = (str(SCRIPT), marked_lines(SCRIPT)["hold"], "hold")
KILLS = 300
SUPERVISED_KILLS = 20
START_UP_KILLS = 60
START_UP_SECONDS = 0.08
AT_ONCE = 2
LONGEST_SECONDS = 0.35
SEED = 20_260


def start(command, environment, folder):
    """Starts a victim in a process group of its own."""
    return subprocess.Popen(
        [str(word) for word in command],
        env=environment,
        cwd=folder,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )


def kill_after(victim, seconds):
    """Waits until the victim says that it holds memory, then so long, then kills its group.

    Gives back the pids that said so: exactly these must have been recorded.
    """
    said = [int(victim.stdout.readline())]
    # A timer and not a sleep: the pipe is read meanwhile, so that no child waits for room in it.
    timer = threading.Timer(seconds, os.killpg, [victim.pid, signal.SIGKILL])
    timer.start()
    said += [int(line) for line in victim.stdout if line.endswith(b"\n")]
    timer.join()
    victim.stdout.close()
    victim.wait()
    return said


def top_holder(recording):
    """The line that holds most: stacks of one line are added up."""
    held = {}
    for stack in recording.stacks:
        if stack.frames:
            frame = stack.frames[0]
            place = (frame.file, frame.line, frame.function)
            held[place] = held.get(place, 0) + stack.live_bytes
    return max(held, key=held.get)


def check(boxes, said):
    """Every process that held memory has a box that opens, and it names the right line."""
    recordings = {}
    for path in boxes:
        recording = outlive.read(path)
        assert recording.is_complete, path
        recordings[recording.identity.pid] = recording
    for pid in said:
        assert pid in recordings, f"no box of {pid}"
        assert top_holder(recordings[pid]) == HOLD, recordings[pid].stacks[:4]
    return len(boxes)


def kill_once(folder, seconds):
    folder.mkdir()
    lab = Lab(folder)
    victim = start([sys.executable, SCRIPT], lab.hooked_environment(), folder)
    said = kill_after(victim, seconds)
    boxes = list(lab.run_folder.glob("*.box"))
    checked = check(boxes, said)
    for path in boxes:
        path.unlink()
    return victim.returncode, checked


def test_three_hundred_kills_at_random_instants(tmp_path):
    instants = random.Random(SEED)
    jobs = [
        (tmp_path / str(number), instants.uniform(0, LONGEST_SECONDS)) for number in range(KILLS)
    ]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        results = list(pool.map(lambda job: kill_once(*job), jobs))
    assert {code for code, _ in results} == {-signal.SIGKILL}
    # Children were recorded too, not only the processes that were started.
    assert sum(boxes for _, boxes in results) > KILLS


def test_kills_while_python_starts_leave_nothing_unreadable(lab):
    instants = random.Random(SEED + 2)
    for _ in range(START_UP_KILLS):
        victim = start([sys.executable, SCRIPT], lab.hooked_environment(), lab.folder)
        timer = threading.Timer(
            instants.uniform(0, START_UP_SECONDS), os.killpg, [victim.pid, signal.SIGKILL]
        )
        timer.start()
        victim.communicate()
        timer.join()
        assert victim.returncode == -signal.SIGKILL
    boxes = list(lab.run_folder.glob("*.box"))
    assert boxes
    check(boxes, said=[])


def kill_under_supervisor(lab, seconds):
    """Kills the program under `outlive run`; gives back its pid and the supervisor's end."""
    command = [paths.program(), "run", "--quiet", "--box-size=4MiB", "--", sys.executable, SCRIPT]
    supervisor = start(command, lab.plain_environment(), lab.folder)
    said = [int(supervisor.stdout.readline())]
    timer = threading.Timer(seconds, os.kill, [said[0], signal.SIGKILL])
    timer.start()
    said += [int(line) for line in supervisor.stdout if line.endswith(b"\n")]
    timer.join()
    supervisor.stdout.close()
    return said[0], supervisor.wait()


def test_kills_under_a_supervisor_are_explained(tmp_path):
    instants = random.Random(SEED + 1)
    for number in range(SUPERVISED_KILLS):
        folder = tmp_path / str(number)
        folder.mkdir()
        lab = Lab(folder)
        pid, code = kill_under_supervisor(lab, instants.uniform(0, LONGEST_SECONDS))
        assert code == -signal.SIGKILL
        answer = lab.why()
        assert answer["verdict"]["id"] == "killed_from_outside"
        assert answer["first_death"]["pid"] == pid
        holder = answer["holders"][0]
        assert (holder["file"], holder["line"], holder["function"]) == HOLD
