"""Where the tests and the parts of Outlive under test lie."""

import os
import shutil
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
SCRIPTS = TESTS / "scripts"
NATIVE = TESTS / "native"
SCENARIOS = TESTS / "scenarios"
PROGRAMS = TESTS / "programs"
REPOSITORY = TESTS.parent.parent
HOOK_NAME = "liboutlive_hook.so"


def program():
    """The `outlive` under test: `$OUTLIVE_BIN`, this environment's, or the one on the path."""
    beside = Path(sys.executable).parent / "outlive"
    found = os.environ.get("OUTLIVE_BIN") or (
        beside if beside.exists() else shutil.which("outlive")
    )
    assert found, "no `outlive` here; set OUTLIVE_BIN, or run `cargo xtask test`"
    return Path(found)


def hook():
    """The hook library that belongs to the program."""
    named = os.environ.get("OUTLIVE_HOOK_LIBRARY")
    if named:
        return Path(named)
    folder = program().resolve().parent
    places = [
        folder / HOOK_NAME,
        *folder.parent.glob(f"lib/python3*/site-packages/outlive/_lib/{HOOK_NAME}"),
    ]
    found = [place for place in places if place.exists()]
    assert found, f"no {HOOK_NAME} near {folder}"
    return found[0]
