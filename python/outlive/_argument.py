"""An argument of a decorated function: where callers put it, and how another value gets there."""

from __future__ import annotations

import inspect
from typing import Any, Callable, NamedTuple

_P = inspect.Parameter


class Argument(NamedTuple):
    """One argument that `outlive.retry` shrinks."""

    name: str
    position: int | None

    @classmethod
    def of(cls, function: Callable[..., Any], name: str) -> Argument:
        """Looks an argument up.

        Raises:
            TypeError: The function has no such argument, or not by name.
        """
        try:
            parameters = inspect.signature(function).parameters
        except ValueError:
            # Native code without a signature: it says itself whether it knows the name.
            return cls(name, None)
        found = parameters.get(name)
        if found is not None and found.kind is _P.POSITIONAL_OR_KEYWORD:
            return cls(name, list(parameters).index(name))
        takes_any = any(one.kind is _P.VAR_KEYWORD for one in parameters.values())
        if takes_any or (found is not None and found.kind is _P.KEYWORD_ONLY):
            return cls(name, None)
        called = getattr(function, "__qualname__", repr(function))
        raise TypeError(f"`{called}` has no argument `{name}` that could be passed by name")

    def passed(self, values: tuple[object, ...], named: dict[str, object], default: int) -> object:
        """What the caller passed, or the default."""
        if self.position is not None and self.position < len(values):
            return values[self.position]
        return named.get(self.name, default)

    def put(self, value: int, values: list[object], named: dict[str, object]) -> None:
        """Puts a value where the caller would have."""
        if self.position is not None and self.position < len(values):
            values[self.position] = value
        else:
            named[self.name] = value
