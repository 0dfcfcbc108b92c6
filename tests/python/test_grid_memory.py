"""A grid takes its own memory and no more; a saved one takes a row of cells."""

import json
import subprocess
import sys

import pytest

pytest.importorskip("torch")

from support.paths import SCRIPTS  # noqa: E402

# What a call may touch besides: stacks, pages of libraries, pools of threads.
NOISE = 3 << 20
# Eight images of 3 x 256 x 256 float32, with their padding.
ROW_OF_CELLS = 8 * 3 * 258 * 258 * 4


def peak(case, module="outlive"):
    """Bytes that a call took, and bytes of its result."""
    command = [sys.executable, str(SCRIPTS / "grid_peak.py"), module, case]
    ended = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    facts = json.loads(ended.stdout)
    return facts["extra"], facts["result"]


@pytest.mark.parametrize(
    "case",
    [
        "batch",
        "channels last",
        "normalize",
        "channels last normalize",
        "scale each",
        "grey",
        "grey normalize",
        "list",
        "list normalize",
        "grey list",
        "both zeros",
        "single normalize",
        "single grey list",
        "array",
        "array normalize",
        "half",
        "bytes",
        "list scale each",
        "long columns",
        "single array",
    ],
)
def test_the_peak_is_the_result(case):
    extra, result = peak(case)
    assert 0.9 * result < extra < 1.02 * result + NOISE, extra / result


@pytest.mark.parametrize("case", ["generator", "generator normalize", "generator of graphs"])
def test_images_of_a_generator_go_as_the_grid_comes(case):
    extra, result = peak(case)
    # The images that are not drawn yet, the grid so far, and a few pages of both.
    assert extra < 1.1 * result + 8 * NOISE, extra / result


@pytest.mark.parametrize("case", ["save", "save grey list"])
def test_a_saved_grid_takes_a_few_rows_of_cells(case):
    extra, _ = peak(case)
    assert extra < 3 * ROW_OF_CELLS + 2 * NOISE, extra


def test_the_measurement_sees_copies():
    pytest.importorskip("torchvision")
    extra, result = peak("list", "torchvision.utils")
    assert extra > 1.9 * result
