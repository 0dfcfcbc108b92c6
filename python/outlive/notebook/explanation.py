"""What a block says about a refusal or a stop: who holds the memory, and what to change."""

from __future__ import annotations

from types import TracebackType

from outlive import _hook
from outlive._out_of_headroom import size_text
from outlive.notebook import places
from outlive.notebook.block import Block, Row
from outlive.notebook.cells import Cells
from outlive.notebook.refusal import Refusal
from outlive.notebook.variables import Holder, Survey

_ROWS = 6
# Who holds less than one part in so many of the first has nothing to give.
_WORTH_A_ROW = 20
# Code of modules, which no line of the user's can let go of.
_IMPORTS = "imported modules"
_FREED = "by the statement that failed, free again"
_NO_SURVEY = Survey([], {}, 0, complete=True)


def block(refusal: Refusal, cells: Cells, survey: Survey | None = None) -> Block:
    """The whole explanation.

    Args:
        refusal: What the guard answered.
        cells: Names for the files of cells.
        survey: Who holds memory by variable; without one, lines alone are told.
    """
    found = survey or _NO_SURVEY
    where = _grown_at(refusal, cells) or raised_at(refusal.error.__traceback__, cells)
    lines = unexplained(refusal.holders, found.lines)
    freed = _freed(refusal)
    temporary = [Row(size_text(freed), where.name, _FREED)] if freed and where else []
    # What is still held is then not what grew.
    grown = where if freed > max((held for held, _ in refusal.holders), default=0) else None
    return Block(
        headline=_headline(refusal, where),
        code=where.text if where else "",
        facts=_facts(refusal),
        rows=temporary + rows(found, lines, cells),
        hints=_hints(refusal, found.holders, grown, cells),
        details=_details(refusal, found),
    )


def _freed(refusal: Refusal) -> int:
    """What the statement held when it failed, and has let go of by failing."""
    measure = _hook.functions().get("measure")
    if refusal.budget is None or refusal.headroom is None or refusal.elsewhere or measure is None:
        return 0
    freed: int = refusal.budget - refusal.headroom - measure()["use"]
    return freed if freed * _WORTH_A_ROW > refusal.budget else 0


def rows(survey: Survey, lines: list[tuple[int, str]], cells: Cells) -> list[Row]:
    """Variables first, then lines that no variable explains."""
    holders = survey.holders
    largest = max([one.bytes for one in holders] + [size for size, _ in lines], default=0)
    least = largest // _WORTH_A_ROW
    told = [
        Row(size(one), one.name, what(one, cells)) for one in holders[:_ROWS] if one.bytes >= least
    ]
    for count, recorded in lines[: max(_ROWS - len(told), 2)]:
        if count >= least:
            at = places.place(recorded, cells)
            # What small objects of a variable hold may be just this.
            certain = "in no variable" if count > survey.placeless else ""
            told.append(Row(size_text(count), at.name, certain, at.text))
    return told


def size(holder: Holder) -> str:
    """How much a variable holds; `~` means estimated."""
    return f"{'~' if holder.estimated else ''}{size_text(holder.bytes)}"


def unexplained(
    holders: tuple[tuple[int, str], ...], explained: dict[str, int]
) -> list[tuple[int, str]]:
    """What lines hold beyond what variables hold of it, largest first."""
    left: dict[str, int] = {}
    for count, place in holders:
        name = _IMPORTS if place.startswith("<frozen importlib") else place
        left[name] = left.get(name, 0) + count
    for place, count in explained.items():
        if place in left:
            left[place] -= count
    return sorted(
        ((count, place) for place, count in left.items() if count > 1 << 20), reverse=True
    )


def raised_at(traceback: TracebackType | None, cells: Cells) -> places.Place | None:
    """The innermost line of a cell that an error came through; else of the user's own files."""
    found = None
    in_cell = False
    while traceback is not None:
        code, line = traceback.tb_frame.f_code, traceback.tb_lineno
        is_cell = cells.of(code.co_filename) is not None
        if code.co_filename == places.TIMED:
            found = places.of_timed_line(line, cells) or found
        elif is_cell or (not in_cell and not _is_library(code.co_filename)):
            in_cell = in_cell or is_cell
            found = places.of_line(code.co_filename, line, code.co_name, cells)
        traceback = traceback.tb_next
    return found


def _grown_at(refusal: Refusal, cells: Cells) -> places.Place | None:
    """Of a stop the line that grew most, where the same cell was stopped at another one."""
    if refusal.requested or not refusal.holders:
        return None
    grown, raised = places.place(refusal.holders[0][1], cells), None
    if grown.name.startswith("cell "):
        raised = raised_at(refusal.error.__traceback__, cells)
    same = (
        raised is not None
        and raised.name.partition(" line ")[0] == grown.name.partition(" line ")[0]
    )
    return grown if same else None


def _is_library(file: str) -> bool:
    return "/site-packages/" in file or "/lib/python" in file or file.startswith("<")


def _headline(refusal: Refusal, where: places.Place | None) -> str:
    at = f" at {where.name}" if where else ""
    worker = " in a worker process" if refusal.elsewhere else ""
    left = "" if refusal.headroom is None else f": {size_text(refusal.headroom)} of headroom left"
    if refusal.requested:
        return f"Outlive refused {size_text(refusal.requested)}{worker}{at}{left}"
    return f"Outlive stopped growing memory{worker}{at}{left}"


def _facts(refusal: Refusal) -> str:
    if refusal.budget is None:
        return ""
    source = f" ({refusal.source})" if refusal.source else ""
    use = ""
    if refusal.headroom is not None:
        use = f", {size_text(refusal.budget - refusal.headroom)} of it in use"
    return f"budget {size_text(refusal.budget)}{source}{use}; the kernel and its variables live"


def what(holder: Holder, cells: Cells) -> str:
    """A variable in words, and where it was made."""
    if not holder.place or holder.place.startswith(":"):
        return holder.what
    at = places.place(holder.place, cells)
    return f"{holder.what}, made at {at.name}"


def _hints(
    refusal: Refusal, holders: list[Holder], grown: places.Place | None, cells: Cells
) -> list[str]:
    hints = []
    requested, budget = refusal.requested, refusal.budget
    if requested and budget and requested > budget:
        hints.append(
            f"Make it smaller or work in pieces: {size_text(requested)} do not fit into "
            f"{size_text(budget)}, whatever else is freed"
        )
        hints.append("If it stays mostly empty: `with outlive.sparse():` around it")
    elif requested:
        hints += _freeing(refusal, holders)
    else:
        hints += _growth(refusal, holders, grown, cells)
    hints.append("In a loop over batches: `outlive.retry` tries again with a smaller batch")
    return hints


def _freeing(refusal: Refusal, holders: list[Holder]) -> list[str]:
    missing = max((refusal.requested or 0) - (refusal.headroom or 0), 0)
    hints = [f"{size_text(missing)} are missing: ask for less at a time, or a smaller dtype"]
    named = [one for one in holders if one.name.isidentifier()]
    if named and named[0].bytes * 20 >= missing:
        enough = ", which is enough" if named[0].bytes >= missing else ""
        hints.append(
            f"`%outlive free {named[0].name}` gives back about {size_text(named[0].bytes)}{enough}"
        )
    return hints


def _growth(
    refusal: Refusal, holders: list[Holder], grown: places.Place | None, cells: Cells
) -> list[str]:
    hints = []
    at = grown or (places.place(refusal.holders[0][1], cells) if refusal.holders else None)
    if at:
        hints.append(f"Memory grew at {at.name}: keep less of each round, or write it to disk")
    named = [one for one in holders if one.name.isidentifier()]
    if named:
        hints.append(f"`{named[0].name}` holds {size(named[0])}: `%outlive free {named[0].name}`")
    return hints


def _details(refusal: Refusal, survey: Survey) -> list[tuple[str, str]]:
    details = []
    figures = (
        ("asked for", refusal.requested),
        ("headroom", refusal.headroom),
        ("budget", refusal.budget),
    )
    for label, figure in figures:
        if figure is not None:
            details.append((label, f"{figure:,} bytes"))
    if refusal.source:
        details.append(("source", refusal.source))
    if not survey.complete:
        details.append(("variables", "not all could be looked at in the time there is"))
    details.append(("more", "`%outlive` for the status, `%outlive free` for what could be freed"))
    return details
