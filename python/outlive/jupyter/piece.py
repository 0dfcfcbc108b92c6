"""The pieces of a set-up: each a file of ours, or an entry in a file that may be someone else's."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path

from outlive.jupyter.environment import Environment
from outlive.jupyter.json_entry import JsonEntry

EXTENSION = "outlive.jupyter"
LAB = Path(__file__).parent / "lab"
_START = Path(__file__).parent / "start.py"


@dataclass(frozen=True)
class Piece:
    """One file that is written.

    Attributes:
        path: Where.
        content: What is in it, if it is wholly ours.
        entry: Otherwise what is ours in it.
    """

    path: Path
    content: bytes = b""
    entry: JsonEntry | None = None

    def put_into(self, content: bytes | None) -> bytes:
        """What the file will hold.

        Args:
            content: What it holds now, if there is one.

        Raises:
            NotAnObjectError: It is no configuration file.
        """
        return self.content if self.entry is None else self.entry.put_into(content)


def server_piece(environment: Environment) -> Piece:
    """Switches the server extension on.

    Args:
        environment: Where.
    """
    path = environment.prefix / "etc" / "jupyter" / "jupyter_server_config.d" / "outlive.json"
    return Piece(path, entry=JsonEntry(("ServerApp", "jpserver_extensions", EXTENSION)))


def ipython_piece(environment: Environment) -> Piece:
    """Switches the IPython extension on, in kernels only.

    Args:
        environment: Where.
    """
    path = environment.prefix / "etc" / "ipython" / "ipython_kernel_config.json"
    return Piece(path, entry=JsonEntry(("InteractiveShellApp", "extensions"), "outlive"))


def start_piece(environment: Environment) -> Piece:
    """Waits for nbclient at the start of Python.

    Args:
        environment: Where.
    """
    path = environment.site_packages / "outlive-jupyter.pth"
    return Piece(path, _start_line())


def lab_folder(environment: Environment) -> Path:
    """Where JupyterLab looks for the extension.

    Args:
        environment: Of which environment.
    """
    return environment.prefix / "share" / "jupyter" / "labextensions" / "outlive"


def lab_pieces(environment: Environment) -> list[Piece]:
    """The files of the extension for JupyterLab.

    Args:
        environment: Where.
    """
    target = lab_folder(environment)
    files = sorted(path for path in LAB.rglob("*") if path.is_file())
    kept = [path for path in files if path.suffix != ".pyc"]
    return [Piece(target / path.relative_to(LAB), path.read_bytes()) for path in kept]


def all_pieces(environment: Environment) -> list[Piece]:
    """Everything that makes sense in an environment.

    Args:
        environment: The environment.
    """
    pieces = []
    if environment.has("jupyter_server"):
        pieces.append(server_piece(environment))
    if environment.has("ipykernel"):
        pieces.append(ipython_piece(environment))
    if environment.has("nbclient"):
        pieces.append(start_piece(environment))
    if environment.has("jupyterlab"):
        pieces += lab_pieces(environment)
    return pieces


def _start_line() -> bytes:
    """The start-up code as the one line that a `.pth` file may have, without its documentation."""
    tree = ast.parse(_START.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(
            node
        ):
            del node.body[0]
    code = ast.unparse(tree)
    return f"import sys; hasattr(sys, '_outlive_waits') or exec({code!r}, {{}})\n".encode("ascii")
