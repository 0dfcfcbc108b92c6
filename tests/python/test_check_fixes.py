"""Safe fixes of `outlive check`, with real torch: same seed, same losses, gradients, weights."""

import json
import re
import subprocess
import sys

import pytest

from support.paths import program

pytest.importorskip("torch")

PROLOGUE = """\
import torch
from torch import nn

torch.manual_seed(7)
torch.set_num_threads(1)
"""

# Every number a program has come to, to the last bit.
EPILOGUE = """

def bits(tensor):
    return [float(number).hex() for number in tensor.detach().flatten()]


for name, value in sorted(globals().items()):
    if isinstance(value, nn.Module):
        for part, weight in value.named_parameters():
            print(name, part, bits(weight), None if weight.grad is None else bits(weight.grad))
    elif isinstance(value, torch.Tensor):
        print(name, bits(value))
    elif isinstance(value, (int, float)) and not name.startswith("_"):
        print(name, value)
    elif isinstance(value, list) and value and isinstance(value[0], torch.Tensor):
        print(name, [bits(tensor) for tensor in value])
print("next", torch.rand(3).tolist())
"""

TRAINING = """
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
criterion = nn.MSELoss()
"""

# The code that finds it, the program, and what the fix makes of its line.
PROGRAMS = {
    "sum of losses": (
        "OL101",
        """
total = 0
for step in range(30):
    x, y = torch.randn(4, 8), torch.randn(4, 1)
    loss = criterion(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total += loss
mean = total / 30
""",
        "total += loss.detach()",
    ),
    "sum written out": (
        "OL101",
        """
total = torch.zeros(())
for step in range(30):
    x, y = torch.randn(4, 8), torch.randn(4, 1)
    loss = criterion(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total = total + loss
""",
        "total = total + loss.detach()",
    ),
    "gradients of several batches": (
        "OL101",
        """
running = 0.0
for step in range(32):
    x, y = torch.randn(4, 8), torch.randn(4, 1)
    loss = criterion(net(x), y) / 4
    loss.backward()
    running += loss
    if step % 4 == 3:
        optimizer.step()
        optimizer.zero_grad()
""",
        "running += loss.detach()",
    ),
    "list of losses": (
        "OL102",
        """
losses = []
for step in range(30):
    x, y = torch.randn(4, 8), torch.randn(4, 1)
    loss = criterion(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss)
best = torch.stack(losses).min()
""",
        "losses.append(loss.detach())",
    ),
    "learning rate by the sum": (
        "OL101",
        """
scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0)
for epoch in range(5):
    epoch_loss = 0
    for step in range(10):
        x, y = torch.randn(4, 8), torch.randn(4, 1)
        loss = criterion(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        epoch_loss += loss
    scheduler.step(epoch_loss)
rate = optimizer.param_groups[0]["lr"]
""",
        "epoch_loss += loss.detach()",
    ),
    "two networks": (
        "OL102",
        """
judge = nn.Linear(1, 1)
other = torch.optim.SGD(judge.parameters(), lr=0.1)
judged, made = [], []
for step in range(30):
    picture = net(torch.randn(4, 8))
    judge_loss = (judge(picture.detach()) ** 2).mean()
    other.zero_grad()
    judge_loss.backward()
    other.step()
    made_loss = -judge(picture).mean()
    optimizer.zero_grad()
    made_loss.backward()
    optimizer.step()
    judged.append(judge_loss)
    made.append(made_loss)
""",
        "judged.append(judge_loss.detach())",
    ),
    "attempts with an error kept": (
        "OL202",
        """
last = None
sizes = []


def attempt(size):
    batch = torch.randn(size, 8)
    if size > 16:
        raise torch.OutOfMemoryError(f"no room for {size}")
    return criterion(net(batch), torch.zeros(size, 1))


size = 64
while size:
    sizes.append(torch.tensor(size))
    try:
        loss = attempt(size)
        break
    except torch.OutOfMemoryError as e:
        last = e
    size //= 2
loss.backward()
optimizer.step()
print(type(last).__name__, last)
""",
        "last = e.with_traceback(None)",
    ),
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Of each program: what was found, its text fixed, and what it printed before and after."""
    folder = tmp_path_factory.mktemp("programs")
    scripts = {}
    for number, (name, (_, body, _)) in enumerate(PROGRAMS.items()):
        scripts[name] = folder / f"train{number}.py"
        scripts[name].write_text(PROLOGUE + TRAINING + body + EPILOGUE)
    found = {name: codes_in(script) for name, script in scripts.items()}
    before = run(*scripts.values())
    for script in scripts.values():
        checked(script, "--fix")
    after = run(*scripts.values())
    return {
        name: (found[name], script, printed_before, printed_after)
        for (name, script), printed_before, printed_after in zip(
            scripts.items(), before, after, strict=True
        )
    }


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_safe_fix_changes_no_number(runs, name):
    code, _, fixed = PROGRAMS[name]
    found, script, before, after = runs[name]
    assert code in found
    assert fixed in script.read_text(), "the fix was not made"
    assert code not in codes_in(script)
    assert after == before
    assert len(re.findall("0x", before)) > 100, "too few numbers to compare"


def test_the_tensors_of_a_failed_attempt_go_with_the_fix(tmp_path):
    body = """
import weakref

last = None
seen = []


def attempt():
    batch = torch.randn(64, 8)
    seen.append(weakref.ref(batch))
    raise torch.OutOfMemoryError("no room")


try:
    attempt()
except torch.OutOfMemoryError as e:
    last = e
print("held", seen[0]() is not None)
"""
    script = tmp_path / "attempt.py"
    script.write_text(PROLOGUE + body)
    assert run(script) == ["held True\n"]
    checked(script, "--fix")
    assert run(script) == ["held False\n"]


KEPT = {
    "a sum that is trained on": """
total = 0
for step in range(30):
    total = total + criterion(net(torch.randn(4, 8)), torch.randn(4, 1))
total.backward()
""",
    "losses of an evaluation": """
net.eval()
total = 0
for step in range(30):
    total += criterion(net(torch.randn(4, 8)), torch.randn(4, 1))
""",
    "batches that are counted": """
from torch.utils.data import DataLoader, TensorDataset

loader = DataLoader(TensorDataset(torch.randn(64, 8)), batch_size=4, shuffle=True)
count = len(list(loader))
""",
    "a graph that is kept": """
for step in range(30):
    loss = criterion(net(torch.randn(4, 8)), torch.randn(4, 1))
    loss.backward(retain_graph=True)
""",
    "a traceback that is printed": """
import traceback

errors = []
try:
    raise torch.OutOfMemoryError("no room")
except torch.OutOfMemoryError as e:
    errors.append(e)
    traceback.print_exc()
""",
}


@pytest.mark.parametrize("name", KEPT)
def test_what_may_change_a_number_is_not_fixed_unasked(tmp_path, name):
    script = tmp_path / "kept.py"
    text = PROLOGUE + TRAINING + KEPT[name]
    script.write_text(text)
    checked(script, "--fix")
    assert script.read_text() == text


def test_to_count_batches_takes_random_numbers(tmp_path):
    """Why `len(loader)` in place of `len(list(loader))` is no safe fix."""
    script = tmp_path / "count.py"
    script.write_text(PROLOGUE + TRAINING + KEPT["batches that are counted"] + EPILOGUE)
    [before] = run(script)
    checked(script, "--fix", "--unsafe-fixes")
    assert "count = len(loader)" in script.read_text()
    [after] = run(script)
    assert "count 16" in before
    assert "count 16" in after
    assert before.splitlines()[-1] != after.splitlines()[-1]


def checked(script, *arguments):
    command = [program(), "check", "--no-respect-gitignore", *arguments, script]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=script.parent)
    assert ran.returncode in (0, 1), ran.stderr
    return ran


def codes_in(script):
    return set(re.findall(r"OL\d+", checked(script, "--format", "concise").stdout))


# One interpreter for many scripts: torch takes seconds to import.
RUNNER = """
import contextlib, io, json, runpy, sys

printed = []
for script in sys.argv[1:]:
    with contextlib.redirect_stdout(io.StringIO()) as output:
        runpy.run_path(script, run_name="__main__")
    printed.append(output.getvalue())
print(json.dumps(printed))
"""


def run(*scripts):
    """What each of these scripts prints."""
    command = [sys.executable, "-c", RUNNER, *scripts]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)
