"""`outlive why` names the cause: of every scenario that the kernel kills, and in kept sources."""

import shutil
import sys

import pytest

from support import cgroup, scenarios
from support.causes import assert_cause
from support.cgroup import MIB
from support.kernels import kernel

# A framework has more code than the small boxes of other tests have room for.
DEFAULT_BOX_SIZE = 32 * MIB
QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "", "SCENARIO_CATCH": "0"}

GROWS = """
import sys
from pathlib import Path

kept = []
if "--edit" in sys.argv:
    Path(__file__).write_text(Path(__file__).read_text() + "# changed\\n")
while True:
    row = bytearray(b"x" * (4 << 20))
    kept.append(row)
"""
FOUND = """
import torch
from torch import nn

model = nn.Sequential(nn.Linear(64, 4096), nn.ReLU(), nn.Linear(4096, 1))
inputs, targets = torch.rand(512, 64), torch.rand(512, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
losses = []
while True:
    loss = nn.functional.mse_loss(model(inputs), targets)
    losses.append(loss)
"""


@pytest.fixture(params=[scenario.name for scenario in scenarios.found()])
def scenario(request):
    return scenarios.named(request.param)


def limited(limit):
    return cgroup.group_of(next(iter(cgroup.versions()), 1), limit)


def test_a_kill_is_explained_by_its_cause(lab, scenario):
    environment = {**QUIET, "SCENARIO_LIMIT": str(scenario.limit)}
    with limited(scenario.limit) as group:
        lab.supervised(
            sys.executable,
            scenario.path,
            flags=["--no-guard"],
            preexec_fn=group.enter,
            env=environment,
            box_size=DEFAULT_BOX_SIZE,
        )
        was_killed = group.kills() > 0
    assert was_killed == (scenario.header["bare"] != "raises")
    assert_cause(lab.why(), scenario)


def ran_out(lab, text, *arguments, limit=256 * MIB):
    """A program that grows until it is stopped."""
    script = lab.folder / "grows.py"
    script.write_text(text)
    words = [sys.executable, script, *arguments]
    ended = lab.supervised(*words, flags=[f"--limit={limit >> 20}MiB"], env=QUIET)
    assert ended.returncode == 1, ended.stderr.decode()
    return script


def test_what_was_edited_afterwards_does_not_matter(lab):
    script = ran_out(lab, GROWS)
    script.write_text("print('fixed')\n")
    cause = lab.why()["cause"]
    assert cause["id"] == "results_kept_in_loop"
    assert (cause["file"], cause["text"]) == (str(script), "kept.append(row)")
    assert not any("was changed" in remark for remark in lab.why()["remarks"])


def test_what_was_edited_while_it_ran_is_told(lab):
    script = ran_out(lab, GROWS, "--edit")
    assert any(f"{script} was changed" in remark for remark in lab.why()["remarks"])


def test_where_nothing_was_kept_the_files_are_read(lab):
    ran_out(lab, GROWS)
    [kept] = (lab.home / "runs").glob("*/sources")
    shutil.rmtree(kept)
    assert lab.why()["cause"]["text"] == "kept.append(row)"


def test_a_good_run_keeps_no_sources(lab):
    script = lab.folder / "fits.py"
    script.write_text("print('fine')\n")
    assert lab.supervised(sys.executable, script).returncode == 0
    assert not list((lab.home / "runs").glob("*/sources"))


def test_a_finding_of_the_check_is_sure_and_names_its_rule(lab):
    pytest.importorskip("torch")
    ran_out(lab, FOUND, limit=1024 * MIB)
    cause = lab.why()["cause"]
    assert (cause["id"], cause["confidence"]) == ("autograd_history_kept", "high")
    assert (cause["text"], cause["rule"]["code"]) == ("losses.append(loss)", "OL102")


def test_cells_of_a_notebook_are_checked_as_they_ran(lab):
    pytest.importorskip("ipykernel")
    pytest.importorskip("torch")
    before, loop = FOUND.split("losses = []\n")
    with limited(1024 * MIB) as group:
        with kernel(lab, flags=["--no-guard"], preexec_fn=group.enter) as started:
            # A magic is no Python: what stands below it is.
            ran = started.run(f"%precision 3\n{before}")
            assert ran.status == "ok", ran.traceback
            started.client.execute(f"losses = []\n{loop}")
            started.manager.provisioner.process.wait()
        assert group.kills() == 1
    cause = lab.why()["cause"]
    assert (cause["id"], cause["confidence"]) == ("autograd_history_kept", "high")
    assert (cause["cell"]["count"], cause["line"]) == (2, 4)
    assert cause["text"] == "losses.append(loss)"
