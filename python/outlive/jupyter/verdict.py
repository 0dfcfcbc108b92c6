"""A verdict as notebooks show it: made from what `outlive why` says of a run."""

from __future__ import annotations

import asyncio
import html
import json
import logging
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from outlive._command import program

log = logging.getLogger("outlive.jupyter")

# An answer takes milliseconds; a machine that is out of memory may be slow.
_PATIENCE_SECONDS = 30
# What a line holds or asked for, of the highest use, from which on it is worth naming.
_WORTH = 0.05
_MEMORY = (
    "out_of_memory_cgroup",
    "out_of_memory_host",
    "out_of_memory_group_kill",
    "slurm_out_of_memory",
    "killed_by_systemd_oomd",
    "killed_by_earlyoom",
    "killed_by_ray",
    "killed_by_dask",
    "allocation_refused",
    "growth_stopped",
    "cxx_allocation_refused",
    "shared_memory_full",
)
# Where the word of the verdict alone would not be a sentence.
_HEADLINES = {
    "out_of_memory_cgroup": "Kernel killed: out of memory",
    "out_of_memory_host": "Kernel killed: out of memory",
    "out_of_memory_group_kill": "Kernel killed: out of memory",
    "slurm_out_of_memory": "Kernel killed: out of memory",
    "killed_from_outside": "Kernel killed from outside",
    "terminated": "Kernel terminated from outside",
    "exited_with_code": "Kernel ended itself",
    "failed_at_start": "Kernel failed at its start",
    "supervisor_lost": "Kernel lost: no end was recorded",
}


async def verdict_of(directory: Path) -> dict[str, Any]:
    """Asks `outlive why` about a run that ended.

    Args:
        directory: The run's folder.

    Returns:
        The verdict, without the fields that only the kernel's server knows.

    Raises:
        OSError: There is no `outlive` program, or it cannot be started.
        ValueError: It gave no answer.
        asyncio.TimeoutError: It took too long.
    """
    answer, text = await asyncio.gather(_why(directory, "json"), _why(directory, "text"))
    return message(json.loads(answer), text.strip())


async def explanation(directory: Path) -> dict[str, Any]:
    """What `outlive why --format json` says of a run, also of one that goes on.

    Args:
        directory: The run's folder.

    Raises:
        OSError: There is no `outlive` program, or it cannot be started.
        ValueError: It gave no answer.
        asyncio.TimeoutError: It took too long.
    """
    answer: dict[str, Any] = json.loads(await _why(directory, "json"))
    return answer


def message(answer: dict[str, Any], text: str) -> dict[str, Any]:
    """The verdict as the event and the server's interface carry it.

    Args:
        answer: What `outlive why --format json` said.
        text: What `outlive why` said.
    """
    found = answer["verdict"]
    place = _place(answer)
    ended = answer["run"].get("ended_at_ns")
    time = datetime.now(timezone.utc) if ended is None else _moment(ended)
    return {
        "run": answer["run"]["id"],
        "verdict": found["id"],
        "confidence": found["confidence"],
        "headline": headline(found["id"]),
        "place": _where(answer, place),
        "source_line": _source_line(answer, place),
        "advice": [*_cause(answer), *(answer.get("advice") or [])],
        "text": text,
        "notebook": (answer["run"].get("notebook") or {}).get("session"),
        "time": time.isoformat(),
        "ended": _ended(answer),
    }


def headline(verdict: str) -> str:
    """A few words for a verdict.

    Args:
        verdict: Its word, as `docs/verdicts.md` lists them.
    """
    return _HEADLINES.get(verdict) or f"Kernel died: {verdict.replace('_', ' ')}"


def reason(verdict: dict[str, Any]) -> str:
    """One line, for the server's list of kernels.

    Args:
        verdict: The verdict.
    """
    where = f" at {verdict['place']}" if verdict["place"] else ""
    known = "" if verdict["confidence"] == "proved" else f" ({verdict['confidence']})"
    return f"{verdict['headline']}{known}{where}; `outlive why {verdict['run']}` says more"


def mark_told(directory: Path) -> None:
    """Notes in a run's folder that its verdict was shown in a notebook.

    Args:
        directory: The run's folder.
    """
    try:
        (directory / "told").touch()
    except OSError as error:
        log.debug("%s cannot be marked: %s", directory, error)


def as_html(verdict: dict[str, Any]) -> str:
    """The verdict as a block of HTML; whatever a program wrote stays text.

    Args:
        verdict: The verdict.
    """
    title, text = html.escape(verdict["headline"]), html.escape(verdict["text"])
    where = f" at {html.escape(verdict['place'])}" if verdict["place"] else ""
    return (
        '<div style="border-left: 4px solid #c62828; padding: 4px 12px;">'
        f"<strong>{title}</strong>{where}"
        f'<pre style="white-space: pre-wrap; margin: 4px 0 0 0;">{text}</pre></div>'
    )


def place_text(place: dict[str, Any]) -> str:
    """A place in a few words: `cell [3] line 2`, or `train.py:12 in step`.

    Args:
        place: As `outlive why --format json` gives it.
    """
    cell, line = place.get("cell"), place.get("line")
    if cell:
        return f"cell [{cell.get('count')}]" + (f" line {line}" if line else "")
    if not place.get("file"):
        return str(place.get("function") or "a place that is not known")
    where = place["file"] if line is None else f"{place['file']}:{line}"
    return f"{where} in {place['function']}" if place.get("function") else str(where)


def _cause(answer: dict[str, Any]) -> list[str]:
    """Why it ran out, where, and what to change, if that is known."""
    cause = answer.get("cause")
    if not cause or cause.get("confidence") == "low":
        return []
    where = f" ({place_text(cause)})" if cause.get("file") else ""
    return [f"{cause['summary']}{where}: {cause['fix']}"]


async def _why(directory: Path, form: str) -> str:
    words = [str(program()), "why", str(directory), "--format", form]
    child = await asyncio.create_subprocess_exec(
        *words,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        told, complaint = await asyncio.wait_for(child.communicate(), _PATIENCE_SECONDS)
    except asyncio.TimeoutError:
        child.kill()
        raise
    if not told:
        raise ValueError(complaint.decode(errors="replace").strip())
    return told.decode(errors="replace")


def _place(answer: dict[str, Any]) -> dict[str, Any] | None:
    """The line to look at; none where an end had nothing to do with a line."""
    if answer["verdict"]["id"] in _MEMORY:
        candidates = _large_places(answer)
    else:
        threads = answer.get("threads") or []
        frames = threads[0].get("frames") or [] if threads else []
        # Innermost first: the first that the notebook itself has, if any.
        candidates = [*(frame for frame in frames if frame.get("cell")), *frames]
    return next((place for place in candidates if place and place.get("file")), None)


def _where(answer: dict[str, Any], place: dict[str, Any] | None) -> str | None:
    if place is not None:
        return place_text(place)
    # Memory that no line explains: at least the cell can be named.
    return _last_cell(answer) if answer["verdict"]["id"] in _MEMORY else None


def _large_places(answer: dict[str, Any]) -> list[Any]:
    """Where memory ran out: what was refused, asked for last, held; only what is worth a word."""
    peak = (answer.get("memory") or {}).get("peak") or 0
    last = (answer.get("growth") or {}).get("last_large") or {}
    holders = [it for it in answer.get("holders") or [] if it["live_bytes"] >= _WORTH * peak]
    return [
        (answer.get("intervention") or {}).get("place"),
        last.get("place") if last.get("bytes", 0) >= _WORTH * peak else None,
        *holders,
    ]


def _last_cell(answer: dict[str, Any]) -> str | None:
    """The cell that began last, where the notebook's extension wrote it down."""
    cell = answer["run"].get("last_cell")
    return f"cell [{cell['count']}]" if cell else None


def _source_line(answer: dict[str, Any], place: dict[str, Any] | None) -> str | None:
    """The text of that line; a holder of the same line may have it."""
    if place is None:
        return None
    for told in [place, *(answer.get("holders") or [])]:
        if told.get("text") and all(told.get(key) == place.get(key) for key in ("file", "line")):
            return str(told["text"])
    return None


def _ended(answer: dict[str, Any]) -> str:
    status = (answer.get("first_death") or {}).get("status")
    if not status:
        return "nobody saw its end"
    if status["kind"] == "signaled":
        return f"killed by {status.get('signal') or 'a signal'} (signal {status['number']})"
    return f"exit code {status['number']}"


def _moment(nanoseconds: int) -> datetime:
    return datetime.fromtimestamp(nanoseconds / 1e9, timezone.utc)
