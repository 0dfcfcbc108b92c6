"""The Python environment that `outlive setup jupyter` writes into: where it is, what it has."""

from __future__ import annotations

import re
import sys
import sysconfig
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

# Of each package: the first version that has what is used, and what that is.
LEAST = {
    "jupyter_client": (7, "guarding kernels from their start (kernel provisioners)"),
    "jupyter_server": (2, "verdicts and memory in the interface (server events)"),
    "ipykernel": (6, "explanations in cells (IPython's configuration of kernels)"),
    "jupyterlab": (4, "notifications and the status bar (prebuilt extensions)"),
}


class UnsuitableError(Exception):
    """Nothing can be set up here; the message says why, and what to do."""


@dataclass(frozen=True)
class Environment:
    """One environment.

    Attributes:
        prefix: Its folder.
        site_packages: Where its packages are.
        versions: Those of Jupyter's packages that are there.
    """

    prefix: Path
    site_packages: Path
    versions: dict[str, str]

    def has(self, package: str) -> bool:
        """Whether a package of Jupyter is installed.

        Args:
            package: Its name.
        """
        return package in self.versions

    def relative(self, path: Path) -> str:
        """A path as it is kept: below the environment's folder where it is, which may be moved.

        Args:
            path: The path.
        """
        try:
            return path.relative_to(self.prefix).as_posix()
        except ValueError:
            return str(path)


def here() -> Environment:
    """The environment of this interpreter."""
    names = [*LEAST, "nbclient", "papermill"]
    found = {name: _version(name) for name in names}
    versions = {name: version for name, version in found.items() if version is not None}
    return Environment(Path(sys.prefix), Path(sysconfig.get_path("purelib")), versions)


def refuse_unsuitable(environment: Environment) -> None:
    """Raises where a set-up would be of no use, or is not ours to make.

    Args:
        environment: The environment.

    Raises:
        UnsuitableError: There is no Jupyter or an old one, or the system owns the folder.
    """
    if not (environment.has("ipykernel") or environment.has("jupyter_server")):
        raise UnsuitableError(
            f"No Jupyter in `{environment.prefix}`: neither ipykernel nor jupyter_server\n"
            f"hint: `{sys.executable} -m pip install jupyterlab`, or use the `outlive` of another "
            "environment"
        )
    for package, (least, use) in LEAST.items():
        version = environment.versions.get(package)
        if version is not None and major(version) < least:
            raise UnsuitableError(
                f"{package} {version} is too old for {use}: it takes {package} {least}\n"
                f"hint: `{sys.executable} -m pip install --upgrade {package}`"
            )
    if is_externally_managed():
        raise UnsuitableError(
            f"`{environment.prefix}` belongs to the system's package manager (EXTERNALLY-MANAGED)\n"
            "hint: make a virtual environment, and install Jupyter and Outlive there"
        )


def is_externally_managed() -> bool:
    """Whether this interpreter asks that only the system's package manager changes it."""
    # As pip reads it: a virtual environment of such an interpreter is free.
    marker = Path(sysconfig.get_path("stdlib")) / "EXTERNALLY-MANAGED"
    return sys.prefix == sys.base_prefix and marker.is_file()


def major(version: str) -> int:
    """The first number of a version; 0 where there is none.

    Args:
        version: The version.
    """
    found = re.match(r"[0-9]+", version)
    return int(found[0]) if found else 0


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
