"""The scenarios: what their headers say, and which of their lines may be blamed."""

import ast
from dataclasses import dataclass
from pathlib import Path

from support.cgroup import GIB, MIB
from support.paths import SCENARIOS

UNITS = {"MiB": MIB, "GiB": GIB}
MARK = "# guilty"


@dataclass(frozen=True)
class Scenario:
    """One way to run out of memory."""

    name: str
    path: Path
    header: dict

    @property
    def limit(self):
        """The smallest limit that its library and a little work fit into."""
        word = self.header["smallest"]
        return int(word[:-3]) * UNITS[word[-3:]]

    def guilty_lines(self):
        """Lines that may be blamed."""
        lines = self.path.read_text(encoding="utf-8").splitlines()
        return {number for number, text in enumerate(lines, 1) if text.endswith(MARK)}

    def reach(self):
        """Lines where an error may rightly be raised: the guilty ones and the loops around them."""
        guilty = self.guilty_lines()
        reached = set(guilty)
        for node in ast.walk(ast.parse(self.path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.For, ast.While)):
                lines = set(range(node.lineno, node.end_lineno + 1))
                reached |= lines if lines & guilty else set()
        return reached


def found():
    """All scenarios."""
    return [_read(path) for path in sorted(SCENARIOS.glob("[!_]*.py"))]


def named(name):
    """One of them."""
    return _read(SCENARIOS / f"{name}.py")


def _read(path):
    header = {}
    for line in path.read_text(encoding="utf-8").splitlines()[1:]:
        if not line.startswith("# "):
            break
        key, _, value = line[2:].partition(":")
        header[key] = value.strip()
    return Scenario(path.stem, path, header)
