"""IPython's shell: methods that are replaced for a while, and how they come back."""

from __future__ import annotations

from typing import Any, Callable

# IPython is not there when types are checked: its shell, and what it tells about a cell.
Shell = Any
Told = Any


class Replacement:
    """Puts a function in the place of an object's method until it is taken back.

    Others may wrap the same method later. What they put there stays, and calls through to the
    original, since the function given here is asked only while it is wanted.
    """

    def __init__(
        self, owner: Shell, name: str, make: Callable[[Callable[..., Any]], Callable[..., Any]]
    ) -> None:
        self._owner = owner
        self._name = name
        self._had_own = name in vars(owner)
        original = getattr(owner, name)
        ours = make(original)
        self._original = original
        self._wanted = True

        def either(*arguments: object, **named: object) -> object:
            return (ours if self._wanted else original)(*arguments, **named)

        self._put = either
        setattr(owner, name, either)

    def take_back(self) -> None:
        """Restores the method, or at least ends what was put around it."""
        self._wanted = False
        if vars(self._owner).get(self._name) is not self._put:
            return
        if self._had_own:
            setattr(self._owner, self._name, self._original)
        else:
            delattr(self._owner, self._name)
