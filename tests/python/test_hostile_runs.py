"""Damaged runs: `outlive why` says what it can, or one line, and never breaks."""

import json
import random
import shutil
import subprocess
import sys

import pytest

from support import paths

SEED = 4711
DAMAGED = 60


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """A run with a killed program, recorded once."""
    home = tmp_path_factory.mktemp("original")
    script = "kept = bytearray(30_000_001); import os; os.kill(os.getpid(), 9)"
    command = [
        paths.program(),
        "run",
        "--quiet",
        "--box-size=4MiB",
        "--",
        sys.executable,
        "-c",
        script,
    ]
    subprocess.run(command, env={"OUTLIVE_HOME": str(home)}, check=False)
    [run] = home.glob("runs/*")
    return run


@pytest.fixture
def run(original, lab):
    """A copy of it that may be damaged."""
    copy = lab.home / "runs" / original.name
    shutil.copytree(original, copy)
    return copy


def ask(lab, *words):
    command = [paths.program(), "why", *words]
    return subprocess.run(
        command,
        env=lab.plain_environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=20,
    )


def assert_answers(lab):
    """Both formats give an answer, or one clear line and Outlive's own code."""
    for words in ([], ["--format", "json"]):
        ended = ask(lab, *words)
        assert ended.returncode in (0, 2), ended
        assert "panicked" not in ended.stderr
        if ended.returncode == 2:
            assert 1 <= len(ended.stderr.splitlines()) <= 2, ended.stderr
    return ended


def flip(data, chance):
    for _ in range(chance.randrange(1, 200)):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)


def put_large_numbers(data, chance):
    for _ in range(chance.randrange(1, 40)):
        place = chance.randrange(len(data) - 8) & ~7
        data[place : place + 8] = chance.choice([b"\xff" * 8, b"\x7f" * 8, b"\0" * 8, b"\1" * 8])


def cut(data, chance):
    del data[chance.randrange(len(data)) :]


def scramble_start(data, chance):
    for place in range(64, 4096 + 64):
        if chance.random() < 0.02:
            data[place] = chance.randrange(256)


@pytest.mark.parametrize("damage", [flip, put_large_numbers, cut, scramble_start])
def test_a_damaged_box_is_explained_as_far_as_it_goes(lab, run, damage):
    [box] = run.glob("*.box")
    whole = box.read_bytes()
    chance = random.Random(SEED)
    for _ in range(DAMAGED // 4):
        data = bytearray(whole)
        damage(data, chance)
        box.write_bytes(data)
        ended = assert_answers(lab)
        assert ended.returncode == 0, ended.stderr
        # How it ended stands in the supervisor's facts, whatever happened to the box.
        assert json.loads(ended.stdout)["verdict"]["id"] == "killed_from_outside"


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"{}", b"\xff\xfe", b"null", b'{"version": 99}']
)
def test_damaged_facts_give_one_line(lab, run, content):
    (run / "run.json").write_bytes(content)
    assert_answers(lab)


def test_facts_with_wrong_types_give_one_line(lab, run):
    facts = json.loads((run / "run.json").read_text())
    for name in facts:
        broken = dict(facts, **{name: {"not": ["what", "was", "meant"]}})
        (run / "run.json").write_text(json.dumps(broken))
        assert_answers(lab)


def test_a_box_that_is_gone_is_said(lab, run):
    [box] = run.glob("*.box")
    box.unlink()
    answer = json.loads(ask(lab, "--format", "json").stdout)
    assert answer["verdict"]["id"] == "killed_from_outside"
    assert answer["holders"] == []


def test_foreign_files_in_the_folder_do_no_harm(lab, run):
    (run / "notes.txt").write_text("hello")
    (run / "1-2.box").mkdir()
    (run / "x-y.box").write_bytes(b"\0" * 5000)
    (run / "99999999999999999999-1.box").write_bytes(b"OUTLIVE\x1a" + b"\xff" * 500)
    (lab.home / "runs" / "not a run").mkdir()
    (lab.home / "runs" / "file").write_text("")
    assert assert_answers(lab).returncode == 0
