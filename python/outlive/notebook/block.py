"""A block of explanation, and its two forms: HTML for a notebook, plain text for a terminal.

Everything that comes from the program is text. It is escaped where it enters the HTML, here and
nowhere else, and no part of it becomes a tag, an attribute or a script.
"""

from __future__ import annotations

import html
import textwrap
from dataclasses import dataclass, field

from outlive.notebook import style

_WIDTH = 100
_LABEL = 10
# Longer ones do not make the column of all wider.
_LONGEST_NAME = 30


@dataclass
class Row:
    """Who holds memory.

    Attributes:
        size: How much, as text.
        name: The variable, or the place.
        what: What it is and where it came from.
        code: The text of the line; empty where there is none.
    """

    size: str
    name: str
    what: str = ""
    code: str = ""


@dataclass
class Block:
    """What is shown; every part but the first may be missing.

    Attributes:
        headline: What happened.
        code: The line where it happened.
        facts: Figures, in one sentence.
        rows: Who holds memory.
        hints: What to change.
        details: Label and value of what few people need.
    """

    headline: str
    code: str = ""
    facts: str = ""
    rows: list[Row] = field(default_factory=list)
    hints: list[str] = field(default_factory=list)
    details: list[tuple[str, str]] = field(default_factory=list)

    def bundle(self) -> dict[str, str]:
        """Both forms, by type, as IPython takes them."""
        return {"text/plain": self.text(), "text/html": self.html()}

    def text(self) -> str:
        """The plain form, without the details."""
        lines = textwrap.wrap(self.headline, _WIDTH, subsequent_indent="  ") or [""]
        if self.code:
            lines.append(f"    {self.code}")
        lines += _labelled("memory", [self.facts] if self.facts else [])
        lines += _columns(self.rows)
        lines += _labelled("try", self.hints)
        return "\n".join(_printable(line) for line in lines)

    def html(self) -> str:
        """The form for a notebook."""
        parts = [f'<div class="outlive-block" style="{style.BLOCK}">']
        parts.append(f'<div class="outlive-headline" style="{style.HEADLINE}">')
        parts.append(f"{_escaped(self.headline)}</div>")
        if self.code:
            parts.append(f'<pre class="outlive-code" style="{style.CODE}">')
            parts.append(f"{_escaped(self.code)}</pre>")
        if self.facts:
            parts.append(f'<div class="outlive-facts">{_escaped(self.facts)}</div>')
        parts += self._table()
        parts += self._list()
        parts += self._folded()
        return "".join([*parts, "</div>"])

    def _table(self) -> list[str]:
        if not self.rows:
            return []
        parts = [f'<table class="outlive-holders" style="{style.TABLE}"><tbody>']
        for row in self.rows:
            told = f"<code>{_escaped(row.code)}</code>" if row.code else ""
            parts.append(
                f'<tr style="{style.ROW}"><td style="{style.SIZE}">{_escaped(row.size)}</td>'
                f'<td style="{style.NAME}">{_escaped(row.name)}</td>'
                f'<td style="{style.WHAT}">{_escaped(row.what)} {told}</td></tr>'
            )
        return [*parts, "</tbody></table>"]

    def _list(self) -> list[str]:
        if not self.hints:
            return []
        hints = "".join(f"<li>{_with_code(hint)}</li>" for hint in self.hints)
        return [f'<ul class="outlive-hints" style="{style.HINTS}">{hints}</ul>']

    def _folded(self) -> list[str]:
        if not self.details:
            return []
        rows = "".join(
            f'<tr style="{style.ROW}"><td style="{style.LABEL}">{_escaped(label)}</td>'
            f'<td style="{style.WHAT}">{_with_code(value)}</td></tr>'
            for label, value in self.details
        )
        return [
            f'<details class="outlive-details" style="{style.DETAILS}"><summary>Details</summary>'
            f'<table style="{style.TABLE}"><tbody>{rows}</tbody></table></details>'
        ]


def _escaped(text: str) -> str:
    return html.escape(_printable(text), quote=True)


def _with_code(text: str) -> str:
    """Escaped, with what stands between backticks set as code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return _escaped(text)
    return "".join(
        f"<code>{_escaped(part)}</code>" if place % 2 else _escaped(part)
        for place, part in enumerate(parts)
    )


def _printable(text: str) -> str:
    """Without characters that would steer a terminal or turn the direction of a line."""
    return "".join(one if one.isprintable() or one == " " else "\ufffd" for one in text)


def _labelled(label: str, texts: list[str]) -> list[str]:
    lines: list[str] = []
    for text in texts:
        first = f"  {label:{_LABEL - 2}}" if not lines else " " * _LABEL
        lines += textwrap.wrap(
            text, _WIDTH, initial_indent=first, subsequent_indent=" " * (_LABEL + 2)
        ) or [first.rstrip()]
    return lines


def _columns(rows: list[Row]) -> list[str]:
    if not rows:
        return []
    wide = max(len(row.size) for row in rows)
    names = max((len(row.name) for row in rows if len(row.name) <= _LONGEST_NAME), default=0)
    lines = []
    for place, row in enumerate(rows):
        label = f"  {'held by' if place == 0 else '':{_LABEL - 2}}"
        told = "  ".join(part for part in (row.what, row.code) if part)
        lines.append(f"{label}{row.size:>{wide}}  {row.name:{names}}  {told}".rstrip())
    return lines
