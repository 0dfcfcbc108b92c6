"""The advice for `oversized_grid`, taken: the same pictures in the same memory."""

import sys

import pytest

from support import cgroup
from support.cgroup import MIB

pytest.importorskip("torchvision")

LIMIT = 1024 * MIB
# Three tenths of the limit; torchvision's copy and grid do not fit beside them, a grid alone does.
PROGRAM = """
import sys
import torch
from {home} import make_grid, save_image

images = torch.rand({count}, {channels}, 64, 64)
grid = make_grid(images, nrow=64, normalize={normalize})
print(tuple(grid.shape))
del grid
save_image(images, sys.argv[1], nrow=64)
print("saved")
"""
CASES = {
    "three channels, normalised": {"channels": 3, "normalize": True, "share": 0.30},
    "one channel": {"channels": 1, "normalize": False, "share": 0.12},
}


@pytest.mark.parametrize("case", CASES)
def test_what_torchvision_cannot_show_fits(lab, case):
    facts = dict(CASES[case])
    facts["count"] = int(LIMIT * facts.pop("share")) // (facts["channels"] * 64 * 64 * 4)
    version = next(iter(cgroup.versions()), None)
    if version is None:
        pytest.skip("no memory cgroup to make a group in")
    ends = {}
    for home in ("torchvision.utils", "outlive"):
        script = lab.folder / f"grid_of_{home}.py"
        script.write_text(PROGRAM.format(home=home, **facts))
        with cgroup.group_of(version, LIMIT) as group:
            ended = lab.bare(
                sys.executable, script, lab.folder / "grid.png", preexec_fn=group.enter
            )
            ends[home] = (group.kills(), ended.stdout.decode().splitlines()[1:])
    assert ends["torchvision.utils"] == (1, [])
    assert ends["outlive"] == (0, ["saved"])
