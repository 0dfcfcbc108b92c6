"""Refusals of real frameworks in a real kernel, and how long they take to explain."""

import re
import time

import pytest

from support.kernels import kernel

pytest.importorskip("ipykernel")
# From the refusal to the reply of the cell.
LONGEST_SECONDS = 0.2


GRID = """try:
    grid = make_grid(digits, nrow=100)
except RuntimeError:
    refused = time.monotonic()
    raise"""


def test_make_grid_fails_in_time_among_ten_thousand_variables(lab):
    with kernel(lab, limit="1GiB") as started:
        started.run("import torch, time\nfrom torchvision.utils import make_grid")
        started.run("digits = torch.rand(16384, 1, 64, 64)")
        started.run("for n in range(10_000):\n    globals()[f'v{n}'] = [n]")
        took = []
        # Other work of the machine only ever adds: the quickest is the figure.
        for _ in range(5):
            ran = started.run(GRID)
            ended = time.monotonic()
            took.append(ended - float(started.value("refused")))
        assert min(took) < LONGEST_SECONDS
        text = ran.block["text/plain"]
        assert text.startswith("Outlive refused 768 MiB at cell [12] line 2: ")
        assert re.search(r"256 MiB  digits +float32 tensor of 16384, 1, 64, 64", text)
        assert "made at cell [2] line 1" in text
        assert ran.error.startswith("RuntimeError: ")
        assert started.value("digits.shape[0]") == "16384"


def test_a_list_of_tensors_is_named_with_its_line(lab):
    with kernel(lab, limit="1GiB") as started:
        started.run("import torch\nkept = []")
        ran = started.run("while True:\n    kept.append(torch.ones(1 << 20))")
        text = ran.block["text/plain"]
        assert re.search(r"MiB  kept +list of \d+ float32 tensors, made at cell \[2\] line 2", text)


def test_a_worker_of_a_loader_is_told_as_one(lab):
    with kernel(lab, limit="1GiB") as started:
        started.run(
            "import torch\n"
            "class Data(torch.utils.data.Dataset):\n"
            "    def __len__(self):\n        return 4\n"
            "    def __getitem__(self, place):\n        return bytes(4 << 30)\n"
            "loader = torch.utils.data.DataLoader(Data(), num_workers=1)"
        )
        ran = started.run("next(iter(loader))")
        assert ran.error.startswith("MemoryError")
        text = ran.block["text/plain"]
        assert text.startswith("Outlive refused 4.0 GiB in a worker process at cell [2] line 1")


def test_tensorflow_is_explained(lab):
    with kernel(lab, limit="2GiB") as started:
        started.run("import tensorflow as tf\nkept = tf.ones((100, 1 << 18))")
        ran = started.run("tf.ones((1 << 15, 1 << 15))")
        text = ran.block["text/plain"]
        assert text.startswith("Outlive refused 4.0 GiB at cell [2] line 1: ")
        assert re.search(r"100 MiB  kept +float32 tensor of 100, 262144", text)
        assert started.value("int(kept[0, 0])") == "1"


def test_pandas_is_explained(lab):
    with kernel(lab, limit="512MiB") as started:
        started.run("import numpy, pandas\nframe = pandas.DataFrame(numpy.ones((1 << 20, 10)))")
        ran = started.run("pandas.concat([frame] * 100)")
        text = ran.block["text/plain"]
        assert re.search(
            r"88 MiB  frame +pandas DataFrame of 1048576, 10, made at cell \[1\]", text
        )
