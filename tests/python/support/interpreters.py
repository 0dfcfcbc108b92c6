"""The Pythons that this machine has, from 3.9 on; some live in a Debian of their own.

`cargo xtask test` names them in `OUTLIVE_TEST_PYTHONS` and `OUTLIVE_TEST_ROOTS`; started by hand,
the tests look on the path, in the version manager's folder and in `.cache`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from support import paths

VERSIONS = ("3.9", "3.10", "3.11", "3.12", "3.13", "3.14")
# Debian releases by the Python they have.
RELEASES = {"3.13": "trixie", "3.14": "testing"}


@dataclass(frozen=True)
class Interpreter:
    """One Python. With a `root`, it runs there, and the lab's folder is seen as `/mnt`."""

    version: str
    executable: str
    root: Path | None = None

    def inside(self, lab, path):
        """How the interpreter sees a path of the lab's folder."""
        return Path("/mnt") / Path(path).relative_to(lab.folder) if self.root else Path(path)

    def hooked(self, lab, script, *arguments):
        """Runs a script, copied into the lab's folder, with the hook alone."""
        copy = lab.folder / Path(script).name
        shutil.copy(script, copy)
        if not self.root:
            return lab.hooked(self.executable, copy, *arguments)
        return self._in_root(lab, copy, arguments, [f"LD_PRELOAD=/mnt/{paths.HOOK_NAME}"])

    def unhooked(self, lab, script):
        """Runs a script of the lab's folder that gets the hook's path, and loads it itself."""
        if not self.root:
            environment = lab.hooked_environment()
            environment.pop("LD_PRELOAD")
            return lab.bare(self.executable, script, paths.hook(), env=environment)
        return self._in_root(lab, script, [f"/mnt/{paths.HOOK_NAME}"], [])

    def _in_root(self, lab, copy, arguments, more):
        shutil.copy(paths.hook(), lab.folder / paths.HOOK_NAME)
        enter = (
            f'mount --bind "{lab.folder}" "{self.root}/mnt" && '
            f'mount -t proc proc "{self.root}/proc" && exec chroot "{self.root}" "$@"'
        )
        lab.run_folder.mkdir(exist_ok=True)
        settings = [
            *more,
            f"OUTLIVE_RUN_DIR=/mnt/{lab.run_folder.name}",
            f"OUTLIVE_BOX_SIZE={4 << 20}",
            "LC_ALL=C.UTF-8",
        ]
        words = ["env", *settings, self.executable, f"/mnt/{copy.name}", *arguments]
        return lab.bare("unshare", "--mount", "sh", "-ec", enter, "sh", *words)


@lru_cache(maxsize=1)
def found():
    """All interpreters, by version."""
    named = {
        version: Interpreter(version, path) for version, path in _named("OUTLIVE_TEST_PYTHONS")
    }
    for version, root in _named("OUTLIVE_TEST_ROOTS"):
        named.setdefault(version, Interpreter(version, f"/usr/bin/python{version}", Path(root)))
    for version in VERSIONS:
        if version not in named:
            searched = _installed(version) or _in_debian(version)
            if searched:
                named[version] = searched
    return named


def _named(variable):
    words = filter(None, os.environ.get(variable, "").split(":"))
    return [word.split("=", 1) for word in words]


def _installed(version):
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    # Shims of a version manager refuse versions that are not switched on: asked last.
    places = sorted(pyenv.glob(f"versions/{version}.*/bin/python{version}"))
    for place in [*places, shutil.which(f"python{version}")]:
        if place and _answers(place, version):
            return Interpreter(version, str(place))
    return None


def _answers(place, version):
    ask = [str(place), "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
    answer = subprocess.run(ask, capture_output=True, text=True, check=False)
    return answer.stdout.strip() == version


def _in_debian(version):
    root = paths.REPOSITORY / ".cache" / f"debian-{RELEASES.get(version)}"
    usable = os.geteuid() == 0 and (root / f"usr/bin/python{version}").exists()
    return Interpreter(version, f"/usr/bin/python{version}", root) if usable else None


def why_missing(version):
    """Why there is no such interpreter; an empty text when the machine could have had one."""
    if version not in RELEASES:
        return f"Python {version} is not installed"
    if os.geteuid() != 0:
        return f"Python {version} is not installed, and only root can make a Debian with it"
    if not shutil.which("debootstrap"):
        return f"Python {version} is not installed, and there is no debootstrap"
    return ""
