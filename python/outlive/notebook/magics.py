"""`%outlive` and `%%outlive`: status, verdict, freeing, and a budget for one cell."""

from __future__ import annotations

import ast
import contextlib
import importlib
import inspect
import re
import sys
from typing import Any, Callable

from outlive._guard import guard
from outlive._native import OutliveError
from outlive.notebook.cells import Cell, Cells, numbered_source
from outlive.notebook.shell import Shell

HELP = """%outlive             use, budget, peak, and who holds memory
%outlive why         why the kernel of this notebook died before; `%outlive why RUN` for another run
%outlive free        what could be freed, by variable
%outlive free a b    frees these variables
%%outlive limit=2GiB  runs the cell with a budget of its own"""
_LIMIT = re.compile(r"limit\s*=\s*(\S+)")


class Magics:
    """The magic, for one shell."""

    def __init__(self, ip: Shell, cells: Cells, previous: Callable[[], str | None]) -> None:
        self._ip = ip
        self._cells = cells
        self._previous = previous

    def outlive(self, line: str, cell: str | None = None) -> None:
        """Answers `%outlive …` and runs `%%outlive …`."""
        if cell is None:
            print(self._answer(line.partition("#")[0].strip()))
        else:
            self._run(line.strip(), cell)

    def _answer(self, line: str) -> str:
        verb, *rest = line.split() or [""]
        try:
            if verb == "" or (verb == "status" and not rest):
                return self._status()
            if verb == "why" and len(rest) <= 1:
                return self._why(rest[0] if rest else None)
            if verb == "free":
                return self._free(rest) if rest else self._freeable()
        except (OutliveError, OSError) as error:
            raise _usage_error(str(error)) from None
        if verb == "help" and not rest:
            return HELP
        if _LIMIT.fullmatch(line):
            raise _usage_error(
                "`limit=` is for a cell: `%%outlive limit=2GiB` as its first line\n"
                'hint: for the rest of the program, `outlive.guard("2GiB")`'
            )
        raise _usage_error(f"`%outlive {line}` is not known\nhint: `%outlive help`")

    def _status(self) -> str:
        from outlive.notebook import status

        return status.text(self._ip, self._cells)

    def _why(self, run: str | None) -> str:
        from outlive.notebook import verdict

        wanted = run or self._previous()
        if wanted is None:
            return "No bad end of this notebook's kernel is known\nhint: `%outlive why last`"
        return verdict.text(wanted)

    def _freeable(self) -> str:
        from outlive.notebook import status

        return status.freeable(self._ip, self._cells)

    def _free(self, names: list[str]) -> str:
        from outlive._out_of_headroom import size_text
        from outlive.notebook import freeing, namespace

        known = dict([*namespace.user_variables(self._ip), *namespace.outputs(self._ip)])
        unknown = [name for name in names if name not in known]
        if unknown:
            raise _usage_error(
                f"No variable `{unknown[0]}`; nothing was freed\nhint: `%outlive free` lists them"
            )
        named = {name: known[name] for name in names}
        # An output may be the same object, and what is referred to here does not go.
        known.clear()
        freed = freeing.free(self._ip, named)
        told = f"{size_text(freed.bytes)} came back"
        if freed.kept_by:
            kept = ", ".join(f"`{name}`" for name in freed.kept_by)
            told += f"\nhint: {kept} still refers to the same object"
        return told

    def _run(self, line: str, cell: str) -> None:
        """Runs a cell under a limit; what it raises goes its way, and the limit ends."""
        found = _LIMIT.fullmatch(line)
        if found is None:
            raise _usage_error(
                f"`{f'%%outlive {line}'.strip()}` is not known\nhint: `%%outlive limit=2GiB`"
            )
        code, last = self._compiled(line, cell)
        try:
            limit = guard(found[1].strip("\"'"))
        except (ValueError, TypeError, OutliveError) as error:
            raise _usage_error(str(error)) from None
        with limit:
            exec(code, self._ip.user_ns)
            if last is not None:
                sys.displayhook(eval(last, self._ip.user_ns))

    def _compiled(self, line: str, cell: str) -> tuple[Any, Any]:
        """The code of a cell's body, and of its last expression."""
        # Lines are numbered as in the notebook, the magic's own included.
        text = "\n" + self._ip.transform_cell(cell)
        raw = f"%%outlive {line}\n{cell}"
        running = self._cells.running() or Cell(self._ip.execution_count, None)
        file = self._ip.compile.cache(text, running.count, raw_code=raw)
        with contextlib.suppress(Exception):
            self._cells.add(file, running, numbered_source(raw, text))
        tree = self._ip.transform_ast(self._ip.compile.ast_parse(text, filename=file))
        if _awaits(text):
            raise _usage_error(
                "`%%outlive` cannot run a cell with `await` outside a function\n"
                'hint: `with outlive.guard("2GiB"):` inside the cell'
            )
        last = None
        if tree.body and isinstance(tree.body[-1], ast.Expr) and not cell.rstrip().endswith(";"):
            last = self._ip.compile(ast.Expression(tree.body.pop().value), file, "eval")
        return self._ip.compile(tree, file, "exec"), last


def _awaits(text: str) -> bool:
    code = compile(text, "<cell>", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    return bool(code.co_flags & inspect.CO_COROUTINE)


def _usage_error(message: str) -> Exception:
    """What IPython shows as one line, and counts as a failed cell."""
    made: Exception = importlib.import_module("IPython.core.error").UsageError(message)
    return made


def register(ip: Shell, magics: Magics) -> Callable[[], None]:
    """Puts the magic into a shell.

    Returns:
        What takes it out again.
    """
    tables = ip.magics_manager.magics
    before = {kind: tables[kind].get("outlive") for kind in ("line", "cell")}
    ip.register_magic_function(magics.outlive, magic_kind="line_cell", magic_name="outlive")

    def unregister() -> None:
        for kind, earlier in before.items():
            if earlier is None:
                tables[kind].pop("outlive", None)
            else:
                tables[kind]["outlive"] = earlier

    return unregister
