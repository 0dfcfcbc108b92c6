"""The pulse: figures of busy kernels, sent once a second over the events that pages hear anyway.

A page that asks each second costs four times as much: a request is the work of three processes in
the browser, and an event is one message on a connection that is open. Nothing is sent of a kernel
that no page has asked about for a while, and nothing runs when there is none.
"""

from __future__ import annotations

import time
from typing import Any, Callable

from outlive.jupyter.events import EventLogger

STATUS_SCHEMA = "urn:outlive:status"

# A little more often than once a second, so that it is once a second when the server is late.
_BEAT_MILLISECONDS = 970
# Pages ask again sooner than this as long as somebody looks at them.
_INTEREST_SECONDS = 30.0

_SCHEMA: dict[str, Any] = {
    "$id": STATUS_SCHEMA,
    "version": "1",
    "title": "Memory of a kernel",
    "description": "Use and budget of a kernel that runs a cell, in bytes.",
    "type": "object",
    "properties": {"kernel_id": {"type": "string"}, "guarded": {"type": "boolean"}},
    "required": ["kernel_id", "guarded"],
}


class Pulse:
    """Sends figures of the kernels that somebody looks at."""

    def __init__(
        self,
        logger: EventLogger,
        is_busy: Callable[[str], bool],
        figures: Callable[[str], dict[str, Any]],
    ) -> None:
        """Makes the schema known, and rests.

        Args:
            logger: The server's event logger.
            is_busy: Whether a kernel runs a cell.
            figures: What is to be sent of a kernel.
        """
        self._logger = logger
        self._is_busy = is_busy
        self._figures = figures
        self._asked: dict[str, float] = {}
        self._timer: Any = None
        if STATUS_SCHEMA not in logger.schemas:
            logger.register_event_schema(_SCHEMA)

    def asked(self, kernel_id: str) -> None:
        """Notes that a page looks at a kernel.

        Args:
            kernel_id: Jupyter's name for it.
        """
        from tornado.ioloop import PeriodicCallback  # type: ignore[import-not-found]

        self._asked[kernel_id] = time.monotonic()
        if self._timer is None:
            self._timer = PeriodicCallback(self._beat, _BEAT_MILLISECONDS)
            self._timer.start()

    def _beat(self) -> None:
        oldest = time.monotonic() - _INTEREST_SECONDS
        self._asked = {name: asked for name, asked in self._asked.items() if asked > oldest}
        if not self._asked:
            self._timer.stop()
            self._timer = None
        for kernel_id in filter(self._is_busy, self._asked):
            message = {"kernel_id": kernel_id, **self._figures(kernel_id)}
            self._logger.emit(schema_id=STATUS_SCHEMA, data=message)
