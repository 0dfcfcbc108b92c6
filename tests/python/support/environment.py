"""A Python environment of one's own, with the packages of this one: to be set up and compared."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

from support import paths

PATIENCE_SECONDS = 120


class Environment:
    """A virtual environment that sees the packages of the one the tests run in."""

    def __init__(self, folder, packages=None):
        """Makes it.

        Args:
            folder: Where.
            packages: Folders with packages, in place of those of this environment.
        """
        self.prefix = Path(folder)
        # A copy of the interpreter's link alone: no pip, nothing to download.
        subprocess.run(
            [sys.executable, "-m", "venv", "--without-pip", str(self.prefix)], check=True
        )
        self.python = self.prefix / "bin" / "python"
        version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
        self.site_packages = self.prefix / "lib" / version / "site-packages"
        found = [sysconfig.get_path("purelib")] if packages is None else packages
        lines = "".join(f"{path}\n" for path in found)
        (self.site_packages / "packages-of-the-tests.pth").write_text(lines)
        # As an installed one, which finds its environment's Python beside it.
        (self.prefix / "bin" / "outlive").symlink_to(paths.program())
        self.private = self.prefix.parent / f"{self.prefix.name} private"
        self.private.mkdir()

    def variables(self, **more):
        """The environment variables: nothing of the user's settings is read or written."""
        kept = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith(
                ("OUTLIVE_", "JUPYTER", "JPY_", "IPYTHON", "PYTEST", "LD_PRELOAD")
            )
        }
        own = {
            "PATH": f"{self.prefix / 'bin'}:{os.environ['PATH']}",
            "HOME": str(self.private),
            "OUTLIVE_HOME": str(self.private / "outlive"),
            "OUTLIVE_HOOK_LIBRARY": str(paths.hook()),
            "JUPYTER_CONFIG_DIR": str(self.private / "config"),
            "JUPYTER_DATA_DIR": str(self.private / "data"),
            "JUPYTER_RUNTIME_DIR": str(self.private / "runtime"),
            "IPYTHONDIR": str(self.private / "ipython"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "TQDM_DISABLE": "1",
        }
        return {**kept, **own, **more}

    def run(self, *words, **options):
        """Runs a program of the environment, with text."""
        return subprocess.run(
            [str(word) for word in words],
            env=self.variables(**options.pop("env", {})),
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
            cwd=options.pop("cwd", self.private),
            check=False,
            **options,
        )

    def module(self, *words, **options):
        """Runs `python -m …`."""
        return self.run(self.python, "-m", *words, **options)

    def set_up(self, *flags, **options):
        """Runs `outlive setup jupyter`, as it is implemented."""
        return self.module("outlive.jupyter", "setup", *flags, **options)

    def tree(self):
        """Everything in the environment: name, mode, and content."""
        return {
            str(path.relative_to(self.prefix)): (path.lstat().st_mode, _content(path))
            for path in sorted(self.prefix.rglob("*"))
        }


def _content(path):
    if path.is_symlink():
        return os.readlink(path)
    return path.read_bytes() if path.is_file() else None
