"""The event that tells a front end why a kernel died: its schema, and how it is sent."""

from __future__ import annotations

from typing import Any, Protocol

# A name and no address: nothing is ever fetched from it.
VERDICT_SCHEMA = "urn:outlive:verdict"

_TEXT = {"type": "string"}
_TEXT_OR_NOTHING = {"type": ["string", "null"]}

_SCHEMA: dict[str, Any] = {
    "$id": VERDICT_SCHEMA,
    "version": "1",
    "title": "Verdict of Outlive",
    "description": "What ended a kernel that nobody asked to end.",
    "type": "object",
    "properties": {
        "kernel_id": _TEXT,
        "kernel_name": _TEXT_OR_NOTHING,
        "run": _TEXT_OR_NOTHING,
        "verdict": _TEXT,
        "confidence": _TEXT,
        "headline": _TEXT,
        "place": _TEXT_OR_NOTHING,
        "source_line": _TEXT_OR_NOTHING,
        "advice": {"type": "array", "items": _TEXT},
        "text": _TEXT,
        "notebook": _TEXT_OR_NOTHING,
        "time": _TEXT,
        "ended": _TEXT,
    },
    "required": ["kernel_id", "verdict", "confidence", "headline", "text", "time", "ended"],
}


class EventLogger(Protocol):
    """What is used of Jupyter's event logger."""

    @property
    def schemas(self) -> Any:  # noqa: ANN401
        """The schemas it knows."""

    def register_event_schema(self, schema: dict[str, Any]) -> None:
        """Learns a schema."""

    def emit(self, *, schema_id: str, data: dict[str, Any]) -> Any:  # noqa: ANN401
        """Sends an event."""


def register(logger: EventLogger) -> None:
    """Makes the schema known; before a browser subscribes, or it never hears of these events.

    Args:
        logger: The server's event logger.
    """
    if not is_known(logger):
        logger.register_event_schema(_SCHEMA)


def emit(logger: EventLogger, message: dict[str, Any]) -> None:
    """Sends a verdict to whoever listens.

    Args:
        logger: The event logger of the server; one that does not know the schema sends nothing.
        message: The verdict.
    """
    if is_known(logger):
        logger.emit(schema_id=VERDICT_SCHEMA, data=message)


def is_known(logger: EventLogger) -> bool:
    """Whether a logger knows the schema."""
    return VERDICT_SCHEMA in logger.schemas
