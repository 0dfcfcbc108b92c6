"""What `%outlive` and `%outlive free` print."""

from __future__ import annotations

from pathlib import Path

from outlive import _hook, _usage
from outlive._out_of_headroom import size_text
from outlive.notebook import explanation, namespace
from outlive.notebook.block import Row
from outlive.notebook.cells import Cells
from outlive.notebook.shell import Shell

_LARGEST = 5
_FREEABLE = 20


def text(ip: Shell, cells: Cells) -> str:
    """Use, budget, peak and who holds most."""
    now = _usage.usage()
    lines = [f"{now}; peak {size_text(_peak())} resident"]
    if not _hook.functions():
        lines[0] += "; not guarded"
    survey = namespace.surveyed(ip)
    ask = _hook.functions().get("holders")
    held = tuple(ask(20)) if ask is not None else ()
    rows = explanation.rows(survey, explanation.unexplained(held, survey.lines), cells)
    return "\n".join(lines + _table(rows[:_LARGEST]))


def freeable(ip: Shell, cells: Cells) -> str:
    """What could be freed, largest first."""
    survey = namespace.surveyed(ip)
    rows = [
        Row(explanation.size(one), one.name, explanation.what(one, cells))
        for one in survey.holders[:_FREEABLE]
    ]
    if not rows:
        return "No variable holds as much as 64 KiB"
    names = [one.name for one in survey.holders if one.name.isidentifier()]
    hint = [f"hint: `%outlive free {names[0]}` frees the first"] if names else []
    return "\n".join(_table(rows) + hint)


def _table(rows: list[Row]) -> list[str]:
    wide = max((len(row.size) for row in rows), default=0)
    return [
        "  ".join(part for part in (f"  {row.size:>{wide}}", row.name, row.what, row.code) if part)
        for row in rows
    ]


def _peak() -> int:
    """The most this process ever had resident; the kernel counts it."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0
