"""Fills a folder with the Python files of packages, and with nothing else of them.

Usage: `unpack.py FOLDER NAME==VERSION…`. Each package's files go to `FOLDER/NAME`; nothing is
installed and nothing of a package runs.
"""

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path


def main() -> int:
    """Downloads and unpacks what the command line names."""
    folder = Path(sys.argv[1])
    for requirement in sys.argv[2:]:
        with tempfile.TemporaryDirectory() as downloads:
            unpack(download(requirement, downloads), folder / requirement.partition("==")[0])
    return 0


def download(requirement: str, folder: str) -> Path:
    """The wheel of one package."""
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "download"]
    words = ["--no-deps", "--only-binary", ":all:", "--dest", folder, requirement]
    subprocess.run(pip + words, check=True)
    (wheel,) = Path(folder).iterdir()
    return wheel


def unpack(wheel: Path, folder: Path) -> None:
    """Everything in the wheel that `outlive check` would read."""
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if name.endswith((".py", ".ipynb"))]
        archive.extractall(folder, names)


if __name__ == "__main__":
    sys.exit(main())
