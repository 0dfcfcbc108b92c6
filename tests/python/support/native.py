"""Small C and C++ libraries that misbehave, compiled once a session."""

import shutil
import subprocess

import pytest

from support import paths


class Compiler:
    """Compiles sources of the `native` folder into one folder."""

    def __init__(self, folder):
        self.folder = folder

    def library(self, source, *flags, name=None):
        """The shared library made of a source file; with flags, under a name of its own."""
        compiler = "g++" if source.endswith(".cpp") else "gcc"
        if not shutil.which(compiler):
            pytest.skip(f"no {compiler} here")
        made = self.folder / f"lib{name or source.replace('.', '_')}.so"
        if not made.exists():
            # Unoptimised: the mistakes are on purpose, and the compiler would use them.
            words = [compiler, "-O0", "-g", "-w", "-fPIC", "-shared", "-o", made]
            subprocess.run([*words, paths.NATIVE / source, *flags, "-ldl"], check=True)
        return made
