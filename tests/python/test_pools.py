"""Memory that runs out behind the user's back, where a pool works for a thread that waits."""

import sys

import pytest

from support import cgroup
from support.cgroup import GIB
from support.paths import SCRIPTS

DEFAULT_BOX_SIZE = 32 << 20


@pytest.mark.parametrize("how", ["map", "map_spawned", "results", "futures", "thread"])
def test_who_waits_for_a_pool_gets_the_error(lab, how):
    version = next(iter(cgroup.versions()), 1)
    with cgroup.group_of(version, GIB) as group:
        ended = lab.supervised(
            sys.executable,
            SCRIPTS / "pools.py",
            how,
            preexec_fn=group.enter,
            box_size=DEFAULT_BOX_SIZE,
        )
        assert group.kills() == 0
    assert (ended.stdout, ended.returncode) == (b"caught\n[1, 2]\n", 0), ended.stderr.decode()
