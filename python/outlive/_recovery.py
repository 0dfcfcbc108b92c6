"""What lies between two attempts.

The variables of the failed one go first, then what frameworks and the C library keep for later.
"""

from __future__ import annotations

import contextlib
import gc
import sys
import traceback
from typing import Any

from outlive._native import trim

# While memory is short the guard may raise here too; each time more of it has been given back.
_TRIES = 3


def drop_frames(error: BaseException, outer: BaseException | None) -> None:
    """Takes the variables of a failed attempt away from its error.

    Args:
        error: What ended the attempt. It stays, without its traceback.
        outer: The error that was being handled around the attempt, which is none of its own.
    """
    seen = set() if outer is None else {id(outer)}
    pending = [error]
    while pending:
        current = pending.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        # Frames that still run, such as the one with the loop, are left alone.
        traceback.clear_frames(current.__traceback__)
        current.__traceback__ = None
        inner = getattr(current, "exceptions", ())
        links = (current.__cause__, current.__context__, *(inner if type(inner) is tuple else ()))
        pending += [link for link in links if isinstance(link, BaseException)]
    error.__cause__ = error.__context__ = None


def release() -> None:
    """Gives back what nothing uses; imports no framework that is not loaded."""
    for _ in range(_TRIES):
        try:
            gc.collect()
            _empty_caches()
            trim()
        except MemoryError:
            continue
        return


def _empty_caches() -> None:
    # JAX is left out: its caches hold compiled programs, which are small and dear to make again.
    # TensorFlow has no call for it.
    torch: Any = sys.modules.get("torch")
    arrow: Any = sys.modules.get("pyarrow")
    for name in ("cuda", "xpu"):
        # A module that is only half imported, or a version without the call: nothing to empty.
        with contextlib.suppress(AttributeError, RuntimeError):
            backend = getattr(torch, name)
            # One that was never used is not woken up for it.
            if backend.is_initialized():
                backend.empty_cache()
                # Pages of the host that are kept pinned for copies; earlier versions have no public
                # name for it.
                public = getattr(torch.accelerator, "empty_host_cache", None)
                (public or torch._C._host_emptyCache)()
    with contextlib.suppress(AttributeError):
        arrow.default_memory_pool().release_unused()
