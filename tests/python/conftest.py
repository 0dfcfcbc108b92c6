"""Fixtures of all tests, and a header that says what this machine lets them use."""

import pytest

from support import cgroup, interpreters, paths
from support.lab import Lab
from support.native import Compiler


def pytest_report_header():
    pythons = [
        f"{version} ({found.root or found.executable})"
        for version, found in sorted(interpreters.found().items(), key=lambda it: len(it[0]))
    ]
    missing = [version for version in interpreters.VERSIONS if version not in interpreters.found()]
    groups = ", ".join(f"v{version}" for version in cgroup.versions()) or "none"
    return [
        f"outlive: {paths.program()}, hook: {paths.hook()}",
        f"Pythons: {', '.join(pythons)}; missing: {', '.join(missing) or 'none'}",
        f"memory cgroups: {groups}",
    ]


@pytest.fixture
def lab(tmp_path):
    """A place to run victims in."""
    return Lab(tmp_path)


@pytest.fixture(scope="session")
def compiler(tmp_path_factory):
    """Makes libraries of the C sources."""
    return Compiler(tmp_path_factory.mktemp("native"))


@pytest.fixture(params=interpreters.VERSIONS)
def interpreter(request):
    """Each supported Python; one that this machine cannot have is skipped, with the reason."""
    version = request.param
    if version not in interpreters.found():
        reason = interpreters.why_missing(version)
        assert reason, f"Python {version} could be had here: run `cargo xtask test`"
        pytest.skip(reason)
    return interpreters.found()[version]
