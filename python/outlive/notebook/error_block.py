"""Shows the explanation of a refusal or a stop above its traceback, which stays as it is."""

from __future__ import annotations

import contextlib
import logging
import sys
from typing import TYPE_CHECKING, Any, Callable

from outlive._memory_error import is_out_of_memory
from outlive.notebook.cells import Cells
from outlive.notebook.reserve import Reserve
from outlive.notebook.shell import Shell

if TYPE_CHECKING:
    from outlive.notebook.refusal import Refusal

_log = logging.getLogger("outlive")


def wrapped_showtraceback(
    ip: Shell, cells: Cells
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Makes the function that takes the place of `_showtraceback` of the shell."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def showtraceback(*arguments: object, **named: object) -> object:
            # Also when the user interrupts the block, or the guard stops it: the traceback comes.
            try:
                show(ip, cells, arguments[1])
            except BaseException:
                _log.debug("No block for an error", exc_info=True)
            return original(*arguments, **named)

        return showtraceback

    return make


def with_reserve(reserve: Reserve) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Makes the function that takes the place of `showtraceback`, which formats before it shows."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def showtraceback(*arguments: object, **named: object) -> object:
            error = sys.exc_info()[1]
            with contextlib.suppress(Exception):
                if error is not None and is_out_of_memory(error):
                    reserve.give()
            return original(*arguments, **named)

        return showtraceback

    return make


def show(ip: Shell, cells: Cells, error: object) -> None:
    """Publishes a block if an error is the guard's answer."""
    if not isinstance(error, BaseException):
        return
    # Most errors are not about memory, and pay for no more than this.
    from outlive.notebook import refusal

    found = refusal.of_error(error)
    if found is None:
        return
    sys.stdout.flush()
    sys.stderr.flush()
    ip.display_pub.publish(_bundle(ip, cells, found))


def _bundle(ip: Shell, cells: Cells, found: Refusal) -> dict[str, str]:
    from outlive.notebook import explanation, namespace

    survey = None
    if not found.elsewhere:
        try:
            survey = namespace.surveyed(ip, found.error.__traceback__)
        except Exception:
            # Memory is short here; the figures alone are worth showing.
            _log.debug("No survey of variables", exc_info=True)
    return explanation.block(found, cells, survey).bundle()
