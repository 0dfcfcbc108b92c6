"""What `outlive doctor jupyter` found about one piece."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Finding:
    """One piece.

    Attributes:
        piece: Which.
        ok: Whether it is as it should be.
        text: What was seen.
        hint: What to do, where it is not.
    """

    piece: str
    ok: bool
    text: str
    hint: str | None = None

    def line(self) -> str:
        """As a person reads it."""
        state = "ok     " if self.ok else "missing"
        hint = f"\n         hint: {self.hint}" if self.hint and not self.ok else ""
        return f"{state}  {self.piece}: {self.text}{hint}"

    def facts(self) -> dict[str, Any]:
        """As a program reads it; a hint only where there is something to do."""
        return {**asdict(self), "hint": None if self.ok else self.hint}
