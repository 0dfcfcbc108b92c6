"""Recordings of every format version stay readable, and are read as on the day they were made."""

import json
import lzma
import shutil

import pytest

import outlive
from support.paths import REPOSITORY

RECORDINGS = REPOSITORY / "tests/recordings"
RUNS = sorted(path.parent for path in RECORDINGS.glob("v*/*/expected.json"))
# What a holder must go on saying; more may be added, words of advice may change.
OF_A_HOLDER = ["file", "line", "function", "live_bytes", "peak_bytes", "exact"]


@pytest.fixture(params=RUNS, ids=[f"{run.parent.name}-{run.name}" for run in RUNS])
def run(request, lab):
    """A recorded run, unpacked where `outlive why` finds it."""
    facts = json.loads((request.param / "run.json").read_text(encoding="utf-8"))
    folder = lab.home / "runs" / facts["id"]
    folder.mkdir(parents=True)
    shutil.copy(request.param / "run.json", folder)
    for packed in request.param.glob("*.box.xz"):
        (folder / packed.stem).write_bytes(lzma.decompress(packed.read_bytes()))
    return request.param, folder


def test_there_are_recordings_of_every_version():
    assert {run.parent.name for run in RUNS} >= {"v1"}


def says(answer, before):
    """Whether an answer says all that it said before; objects may have got more fields."""
    if isinstance(before, dict):
        return all(name in answer and says(answer[name], before[name]) for name in before)
    if isinstance(before, list):
        return len(answer) == len(before) and all(map(says, answer, before))
    return answer == before


def test_a_run_is_explained_as_before(lab, run):
    expected = json.loads((run[0] / "expected.json").read_text(encoding="utf-8"))
    answer = lab.why()
    for word in ("id", "confidence"):
        assert answer["verdict"][word] == expected["verdict"][word]
    for part in ("first_death", "threads", "exceptions"):
        assert says(answer[part], expected[part]), (answer[part], expected[part])
    assert len(answer["holders"]) == len(expected["holders"])
    for holder, before in zip(answer["holders"], expected["holders"]):
        assert {word: holder[word] for word in OF_A_HOLDER} == {
            word: before[word] for word in OF_A_HOLDER
        }
    assert [process["pid"] for process in answer["processes"]] == [
        process["pid"] for process in expected["processes"]
    ]


def test_its_boxes_are_whole(run):
    boxes = list(run[1].glob("*.box"))
    assert boxes
    for path in boxes:
        recording = outlive.read(path)
        assert recording.is_complete
        assert f"v{recording.version}" == run[0].parent.name
        assert recording.identity.attribution == "on"
        assert recording.totals.peak_bytes > 0
