"""A verdict as a block: what ended the kernel, where, and what to do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from outlive._out_of_headroom import size_text
from outlive.notebook.block import Block, Row
from outlive.notebook.cells import FILE_NAME

_ROWS = 3
_HINTS = 3
_WORTH_A_ROW = 1 << 20
# Besides those with the word in their name; see docs/verdicts.md.
_ABOUT_MEMORY = (
    "allocation_refused",
    "cxx_allocation_refused",
    "growth_stopped",
    "killed_by_dask",
    "killed_by_earlyoom",
    "killed_by_ray",
    "killed_by_systemd_oomd",
)


def block(facts: dict[str, Any], folder: Path) -> Block:
    """The block for what `outlive why` said about a run in a folder."""
    cells = _Cells(folder)
    verdict = facts["verdict"]
    at = _place(facts, cells)
    name, text = cells.told(at) if at else ("", "")
    headline = f"The kernel died: {_uncapitalised(cells.renamed(verdict['summary'], at))}"
    if name and name not in headline:
        headline += f" ({name})"
    run = facts["run"]["id"]
    advice = [*_cause(facts, cells), *facts.get("advice", [])][:_HINTS]
    advice = [cells.renamed(one, at) for one in advice]
    return Block(
        headline=headline,
        code=text,
        facts=_memory(facts.get("memory") or {}),
        rows=[_row(one, cells) for one in _holders(facts)],
        hints=[*advice, f"`%outlive why` tells the whole story, `outlive why {run}` in a terminal"],
        details=[*_details(facts), ("last cell", cells.last() or "none")],
    )


class _Cells:
    """The cells of a run that is over."""

    def __init__(self, folder: Path) -> None:
        self._known: dict[str, dict[str, Any]] = {}
        try:
            with (folder / FILE_NAME).open(encoding="utf-8", errors="replace") as lines:
                for line in lines:
                    self._add(line)
        except OSError:
            return

    def _add(self, line: str) -> None:
        try:
            told = json.loads(line)
            self._known[str(told["file"])] = told
        except (ValueError, KeyError, TypeError):
            # The last line may have been cut off by the death itself.
            return

    def told(self, place: dict[str, Any]) -> tuple[str, str]:
        """Name and text of a place."""
        file, line = place.get("file"), place.get("line")
        cell = self._known.get(file or "")
        text = place.get("text") or ""
        if not file or not line:
            return place.get("function") or "", text
        if cell is None:
            function = place.get("function")
            return f"{file}:{line}" + (f" in {function}" if function else ""), text
        lines = str(cell.get("source", "")).splitlines()
        text = lines[line - 1].strip() if line <= len(lines) else text
        return f"cell [{cell.get('count')}] line {line}", text

    def has(self, place: object) -> bool:
        """Whether a place is in a cell."""
        return isinstance(place, dict) and place.get("file") in self._known

    def last(self) -> str:
        """The cell that began to run last."""
        newest = max(self._known.values(), key=lambda told: told.get("time") or 0, default={})
        return f"cell [{newest['count']}]" if "count" in newest else ""

    def renamed(self, text: str, place: dict[str, Any] | None) -> str:
        """A sentence in which the place is named as its cell."""
        if not place or not place.get("file") or place["file"] not in self._known:
            return text
        name = self.told(place)[0]
        whole = f"{place['file']}:{place['line']} in {place.get('function')}"
        return text.replace(whole, name).replace(f"{place['file']}:{place['line']}", name)


def _place(facts: dict[str, Any], cells: _Cells) -> dict[str, Any] | None:
    """Where it happened: what was refused, what ran, or of memory what was asked for last."""
    places = [(facts.get("intervention") or {}).get("place")]
    for thread in facts.get("threads", [])[:1]:
        places += [frame for frame in thread.get("frames", []) if cells.has(frame)]
    if _is_about_memory(facts):
        places.append(((facts.get("growth") or {}).get("last_large") or {}).get("place"))
        places += [one for one in facts.get("holders", []) if one.get("kind") == "line"]
    return next((one for one in places if one), None)


def _cause(facts: dict[str, Any], cells: _Cells) -> list[str]:
    """Why it ran out, where, and what to change, if that is known."""
    cause = facts.get("cause")
    if not cause or cause.get("confidence") == "low":
        return []
    where = f" ({cells.told(cause)[0]})" if cause.get("file") else ""
    return [f"{cause['summary']}{where}: {_uncapitalised(cause['fix'])}"]


def _is_about_memory(facts: dict[str, Any]) -> bool:
    name = str(facts["verdict"]["id"])
    return "memory" in name or name in _ABOUT_MEMORY


def _holders(facts: dict[str, Any]) -> list[dict[str, Any]]:
    if not _is_about_memory(facts):
        return []
    key = "peak_bytes" if facts.get("holders_moment") == "peak" else "live_bytes"
    told = [{**one, "shown": one.get(key) or 0} for one in facts.get("holders", [])]
    return [one for one in told if one["shown"] >= _WORTH_A_ROW][:_ROWS]


def _row(holder: dict[str, Any], cells: _Cells) -> Row:
    name, text = cells.told(holder)
    about = "" if holder.get("exact") else "~"
    return Row(f"{about}{size_text(holder['shown'])}", name, "", text)


def _memory(memory: dict[str, Any]) -> str:
    if not memory.get("limit") or not memory.get("peak"):
        return ""
    source = f" ({memory['limit_source']})" if memory.get("limit_source") else ""
    return f"limit {size_text(memory['limit'])}{source}, peak {size_text(memory['peak'])}"


def _details(facts: dict[str, Any]) -> list[tuple[str, str]]:
    verdict = facts["verdict"]
    details = [("verdict", f"{verdict['id']}, {verdict['confidence']}")]
    details += [("proof", one) for one in verdict.get("evidence", [])]
    details += [("not", one) for one in verdict.get("ruled_out", [])]
    return [*details, ("run", facts["run"]["id"])]


def _uncapitalised(text: str) -> str:
    return text if text[:7] == "Outlive" else text[:1].lower() + text[1:]
