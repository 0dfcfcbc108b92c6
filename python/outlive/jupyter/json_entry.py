"""One entry of ours in a JSON file that may have others: put in, and taken out again."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any


class NotAnObjectError(ValueError):
    """A file does not hold what a configuration file holds."""


@dataclass(frozen=True)
class JsonEntry:
    """An entry below some keys.

    Attributes:
        keys: The way to it.
        item: What is in a list there; `None` where the value is `true` itself.
    """

    keys: tuple[str, ...]
    item: str | None = None

    def is_in(self, content: bytes) -> bool:
        """Whether a file has the entry.

        Args:
            content: What is in the file.

        Raises:
            NotAnObjectError: It is no JSON, or no object.
        """
        value: Any = _read(content)
        for key in self.keys:
            value = value.get(key) if isinstance(value, dict) else None
        return (
            value is True if self.item is None else isinstance(value, list) and self.item in value
        )

    def put_into(self, content: bytes | None) -> bytes:
        """A file with the entry; the rest of it stays, in its order.

        Args:
            content: What is in the file; nothing where there is none.

        Raises:
            NotAnObjectError: It is no JSON, or not of the shape that Jupyter reads.
        """
        if content is not None and self.is_in(content):
            return content
        whole = _read(content) if content is not None else {}
        inner = whole
        for key in self.keys[:-1]:
            inner = inner.setdefault(key, {})
            if not isinstance(inner, dict):
                raise NotAnObjectError(f"`{key}` is not an object")
        last = self.keys[-1]
        if self.item is None:
            inner[last] = True
        else:
            items = inner.setdefault(last, [])
            if not isinstance(items, list):
                raise NotAnObjectError(f"`{last}` is not a list")
            items.append(self.item)
        return _written(whole)

    def taken_from(self, content: bytes) -> bytes | None:
        """A file without the entry, and without what then is empty on the way to it.

        Args:
            content: What is in the file.

        Returns:
            What is left; nothing where that is nothing.

        Raises:
            NotAnObjectError: It is no JSON, or no object.
        """
        if not self.is_in(content):
            return content
        whole = _read(content)
        _take(whole, self.keys, self.item)
        return _written(whole) if whole else None


def _take(value: dict[str, Any], keys: tuple[str, ...], item: str | None) -> None:
    first = keys[0]
    if len(keys) > 1:
        _take(value[first], keys[1:], item)
    elif item is None:
        value[first] = None
    else:
        value[first].remove(item)
    if not value[first]:
        del value[first]


def _read(content: bytes) -> dict[str, Any]:
    try:
        value = json.loads(content)
    except ValueError as error:
        raise NotAnObjectError(f"it is not JSON ({error})") from error
    if not isinstance(value, dict):
        raise NotAnObjectError("it holds no JSON object")
    return value


def _written(value: dict[str, Any]) -> bytes:
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()
