"""A place in the program as a person reads it: `cell [3] line 2`, with the text of the line."""

from __future__ import annotations

import linecache
import os
import re
from pathlib import Path
from typing import NamedTuple

from outlive.notebook.cells import Cells

_PLACE = re.compile(r"(?s)(?P<file>.*):(?P<line>[0-9]+) in (?P<function>.*)")
# A longer file is no source that anyone reads, and reading it takes time.
_LARGEST_SOURCE = 4 << 20
_LONGEST_TEXT = 200
# What IPython calls the code of every cell with `%%time`.
TIMED = "<timed exec>"


class Place(NamedTuple):
    """Where something happened.

    Attributes:
        name: `cell [3] line 2`, `train.py:22 in load`.
        text: The line's own text; empty where it cannot be had.
    """

    name: str
    text: str = ""


def place(recorded: str, cells: Cells) -> Place:
    """The place that the hook wrote as `file:line in function`."""
    found = _PLACE.fullmatch(recorded)
    if found is None:
        return Place(recorded)
    if not found["file"]:
        # The black box has no room for more lines.
        return Place("lines that are not known")
    return of_line(found["file"], int(found["line"]), found["function"], cells)


def of_line(file: str, line: int, function: str, cells: Cells) -> Place:
    """The place of a line."""
    text = _text(file, line)
    cell = cells.of(file)
    if cell is None:
        return Place(f"{_short(file)}:{line} in {function}", text)
    # `<module>`, `<listcomp>` and the like say nothing that the line does not.
    inside = "" if function.startswith("<") else f" in {function}"
    return Place(f"cell [{cell.count}] line {line}{inside}", text)


def of_timed_line(line: int, cells: Cells) -> Place | None:
    """The place of a line of the cell that runs, counted without its `%%time`."""
    cell, lines = cells.running(), cells.source().splitlines()
    if cell is None or not cells.source().startswith("%%time") or line >= len(lines):
        return None
    return Place(f"cell [{cell.count}] line {line + 1}", lines[line].strip()[:_LONGEST_TEXT])


def _short(file: str) -> str:
    here = str(Path.cwd()) + os.sep
    return file[len(here) :] if file.startswith(here) else file


def _text(file: str, line: int) -> str:
    if file not in linecache.cache:
        try:
            if Path(file).stat().st_size > _LARGEST_SOURCE:
                return ""
        except (OSError, ValueError):
            return ""
    text = linecache.getline(file, line).strip()
    return text if len(text) <= _LONGEST_TEXT else text[: _LONGEST_TEXT - 1] + "…"
