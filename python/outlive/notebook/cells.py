"""The cells that ran: which file name of a code object is which cell, also for after a death.

IPython compiles each cell under a file name of its own, which is what the hook sees. The names go
to `cells.jsonl` of the run's folder before the cell runs, so that a verdict can say `cell [3]`.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Callable

from outlive.notebook.shell import Told

FILE_NAME = "cells.jsonl"
LONGEST_SOURCE = 64 << 10
LARGEST_FILE = 8 << 20
# Names in memory; a notebook that runs for weeks stays small.
_MOST_CELLS = 20_000


@dataclass(frozen=True)
class Cell:
    """One execution of a cell.

    Attributes:
        count: The number in its prompt.
        id: Its id in the notebook, where the front end tells it.
    """

    count: int
    id: str | None


@dataclass
class _Running:
    raw: str
    id: str | None
    has_prompt: bool
    cell: Cell | None = None


class Cells:
    """Remembers cells by the file name of their code, and writes them down."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._file: IO[str] | None = None
        self._size = 0
        self._known: dict[str, Cell] = {}
        self._running: list[_Running] = []
        self._pid = os.getpid()

    def of(self, file: str) -> Cell | None:
        """The newest cell whose code has this file name."""
        return self._known.get(file)

    def begin(self, info: Told) -> None:
        """A cell that is not silent is about to run; IPython says what it is."""
        told = getattr(info, "cell_id", None), bool(getattr(info, "store_history", True))
        self._running.append(_Running(str(info.raw_cell), *told))

    def end(self) -> None:
        """The cell that began last is over."""
        if self._running:
            self._running.pop()

    def running(self) -> Cell | None:
        """The cell that runs."""
        return self._running[-1].cell if self._running else None

    def source(self) -> str:
        """The text of the cell that runs."""
        return self._running[-1].raw if self._running else ""

    def compiled(self, file: str, code: str, number: int, raw: str) -> None:
        """Code was given its file name; of a cell that is not silent it is recorded.

        Args:
            file: The name.
            code: What IPython made of the cell.
            number: Of the prompt.
            raw: The cell as it was written.
        """
        if not self._running or self._running[-1].raw != raw:
            return
        running, outer = self._running[-1], self._running[0].cell
        if outer is not None and not running.has_prompt:
            # A cell inside a cell, as of `%%capture`, shares the prompt of the outer one.
            number = outer.count
        running.cell = Cell(number, running.id)
        self.add(file, running.cell, numbered_source(raw, code))

    def add(self, file: str, cell: Cell, source: str) -> None:
        """Records a cell.

        Args:
            file: The file name of its code.
            cell: The cell.
            source: Its text, with the line numbers of the code.
        """
        self._known.pop(file, None)
        self._known[file] = cell
        if len(self._known) > _MOST_CELLS:
            del self._known[next(iter(self._known))]
        entry = {
            "file": file,
            "count": cell.count,
            "id": cell.id,
            "source": source[:LONGEST_SOURCE],
            "time": time.monotonic_ns(),
        }
        self._write(json.dumps(entry) + "\n")

    def close(self) -> None:
        """Ends recording."""
        self._folder = None
        with contextlib.suppress(OSError, ValueError):
            if self._file is not None:
                self._file.close()
        self._file = None

    def _write(self, line: str) -> None:
        # A forked process has the same file open and no cells of its own.
        if self._folder is None or os.getpid() != self._pid:
            return
        try:
            if self._file is None:
                self._open(self._folder / FILE_NAME)
            if self._size + len(line) > LARGEST_FILE:
                self._start_anew(self._folder / FILE_NAME)
            if self._file is not None:
                self._file.write(line)
                self._file.flush()
                self._size += len(line)
        except (OSError, ValueError):
            # A full disk, a folder that is gone: the program goes on without recording.
            self.close()

    def _open(self, path: Path) -> None:
        self._file = path.open("a", encoding="ascii")
        self._size = self._file.tell()

    def _start_anew(self, path: Path) -> None:
        """Keeps the newest half."""
        with path.open(encoding="ascii") as file:
            file.seek(max(self._size - LARGEST_FILE // 2, 0))
            # The rest of a line that was cut.
            file.readline()
            kept = file.read()
        temporary = path.with_name(f"{FILE_NAME}.{os.getpid()}")
        temporary.write_text(kept, encoding="ascii")
        temporary.replace(path)
        if self._file is not None:
            self._file.close()
        self._open(path)


def wrapped_cache(cells: Cells) -> Callable[[Callable[..., str]], Callable[..., str]]:
    """Makes the function that takes the place of `compile.cache` of the shell."""

    def make(original: Callable[..., str]) -> Callable[..., str]:
        def cache(*arguments: object, **named: object) -> str:
            file = original(*arguments, **named)
            with contextlib.suppress(Exception):
                code, number, raw = _cached(*arguments, **named)
                cells.compiled(file, code, number, raw)
            return file

        return cache

    return make


def _cached(
    transformed_code: Told, number: Told = 0, raw_code: Told = None
) -> tuple[str, int, str]:
    """The arguments of `compile.cache`; it has had all three of these names, and no others."""
    return str(transformed_code), int(number), str(raw_code or transformed_code)


def numbered_source(raw: str, code: str) -> str:
    """The text of a cell in which line n is line n of its code.

    IPython drops empty lines in front and joins continued magics; where the numbers differ after
    that, what it compiled is the better text.
    """
    lines = raw.splitlines()
    while lines and not lines[0].strip():
        del lines[0]
    # A magic of a whole cell is one line of code.
    fits = len(lines) == len(code.splitlines()) or raw.lstrip().startswith("%%")
    return "\n".join(lines) if fits else code
