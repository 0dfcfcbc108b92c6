"""The hook in this process, as far as it guards: its functions by name."""

from __future__ import annotations

from typing import Any, Callable

from outlive._native import NotGuarded, hook_namespace


def functions() -> dict[str, Callable[..., Any]]:
    """What the hook offers to Python code; nothing where this process is not guarded."""
    return hook_namespace() or {}


def function(name: str, purpose: str) -> Callable[..., Any]:
    """One function of the hook.

    Args:
        name: Its name.
        purpose: What of this package needs it, for the message.

    Raises:
        NotGuarded: There is no guard in this process.
    """
    found = functions().get(name)
    if found is None:
        message = (
            f"`{purpose}` needs the guard, and this process runs without it\n"
            "hint: call `outlive.guard` first, or start it with `outlive run -- python …`"
        )
        raise NotGuarded(message)
    return found
