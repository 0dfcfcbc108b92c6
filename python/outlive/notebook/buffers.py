"""What one object holds by itself: its buffers, and the objects through which it holds more.

Knows the libraries that are loaded, and imports none. No code of the user runs: types are looked
at as they are, and functions of the known types are called past anything a subclass overrides.
"""

from __future__ import annotations

import array
import collections
import gc
import itertools
import mmap
import sys
import types
from typing import Any, Callable, NamedTuple

# The part of a container that is looked at; from it the rest is estimated.
LARGEST_EXACT = 4096
_SAMPLE = 512


class Buffer(NamedTuple):
    """A piece of memory of the host. The same address means the same piece; 0: not known."""

    address: int
    bytes: int


class Contents(NamedTuple):
    """What an object holds.

    Attributes:
        buffers: Its own memory.
        children: Objects it refers to, all of them or a sample.
        factor: How many times the children there are as many; 1 where all are given.
    """

    buffers: list[Buffer]
    children: list[Any]
    factor: float = 1.0


# Any object of the user's, and any class whose functions are called past its subclasses.
Thing = Any
Class = Any
_Look = Callable[[Any], Contents]
_NOTHING = Contents([], [])
# They hold nothing of the user's, or lead out of what the user made: to modules and to everything.
_SKIPPED = (
    type,
    types.ModuleType,
    types.FunctionType,
    types.BuiltinFunctionType,
    types.CodeType,
    types.FrameType,
    types.GetSetDescriptorType,
    property,
)
NUMBERS = frozenset((int, float))
SMALL: frozenset[type] = frozenset(
    (int, float, complex, bool, type(None), type(Ellipsis), range, slice, *_SKIPPED)
)


class Library:
    """How to look into objects, by their type; kept for one survey."""

    def __init__(self) -> None:
        self._looks: dict[type, _Look] = dict.fromkeys(SMALL, _nothing)
        self._known: dict[type, _Look] = {**_BUILT_IN, **_of_loaded_libraries()}

    def contents(self, thing: Thing) -> Contents:
        """What an object holds; nothing where it cannot be told."""
        try:
            kind = type(thing)
            look = self._looks.get(kind)
            if look is None:
                look = self._looks[kind] = self._look_of(kind)
            return look(thing)
        except Exception:
            # A container that another thread changes, a tensor without storage, a closed map.
            return _NOTHING

    def is_leaf(self, thing: Thing) -> bool:
        """Whether an object is a buffer itself, which is quick to look at."""
        kind = type(thing)
        look = self._looks.get(kind)
        if look is None:
            look = self._looks[kind] = self._look_of(kind)
        return look not in _WALKED

    def _look_of(self, kind: type) -> _Look:
        for one in mro(kind):
            if one in self._known:
                return self._known[one]
            if one in _SKIPPED:
                return _nothing
        return _object


def mro(kind: type) -> tuple[type, ...]:
    """The classes of a class, past a metaclass that overrides the attribute."""
    found: tuple[type, ...] = type.__dict__["__mro__"].__get__(kind)
    return found


def name_of(kind: type) -> str:
    """The name of a class, past a metaclass."""
    return str(type.__dict__["__name__"].__get__(kind))


def library_class(module: str, name: str) -> type | None:
    """A class of a library, if that is loaded."""
    found = getattr(sys.modules.get(module), "__dict__", {}).get(name)
    return found if isinstance(found, type) else None


def _nothing(_: Thing) -> Contents:
    return _NOTHING


def _plain(kind: Class) -> _Look:
    def look(thing: Thing) -> Contents:
        return Contents([Buffer(id(thing), kind.__sizeof__(thing))], [])

    return look


def _bytearray(thing: Thing) -> Contents:
    return Contents([Buffer(0, bytearray.__sizeof__(thing))], [])


def _array(thing: Thing) -> Contents:
    address = array.array.buffer_info(thing)[0]
    return Contents([Buffer(address, array.array.__sizeof__(thing))], [])


def _memoryview(thing: Thing) -> Contents:
    return Contents([], [thing.obj])


def _sequence(kind: Class) -> _Look:
    def look(thing: Thing) -> Contents:
        count = kind.__len__(thing)
        own = [Buffer(0, kind.__sizeof__(thing))]
        if count <= LARGEST_EXACT:
            return Contents(own, list(kind.__iter__(thing)))
        step = count // _SAMPLE
        chosen = [kind.__getitem__(thing, place) for place in range(0, step * _SAMPLE, step)]
        return Contents(own, chosen, count / len(chosen))

    return look


def _stream(kind: Class, parts: Callable[[Any], Any]) -> _Look:
    """For what has no order to choose from: the first ones stand for all."""

    def look(thing: Thing) -> Contents:
        count = kind.__len__(thing)
        own = [Buffer(0, kind.__sizeof__(thing))]
        if count <= LARGEST_EXACT:
            return Contents(own, list(parts(thing)))
        chosen = list(itertools.islice(parts(thing), _SAMPLE * 2))
        return Contents(own, chosen, count / len(chosen))

    return look


def _dict(thing: Thing) -> Contents:
    count = dict.__len__(thing)
    own = [Buffer(0, dict.__sizeof__(thing))]
    if count <= LARGEST_EXACT:
        return Contents(own, [*dict.values(thing), *dict.keys(thing)])
    values = list(itertools.islice(dict.values(thing), _SAMPLE))
    keys = list(itertools.islice(dict.keys(thing), _SAMPLE))
    return Contents(own, values + keys, count / len(values))


def _object(thing: Thing) -> Contents:
    # The collector's own view: attributes, slots and whatever native code refers to.
    children = gc.get_referents(thing)
    # Not `__sizeof__`, which is wrong by petabytes for a generator.
    return Contents([Buffer(0, _basic_size(type(thing)))], children)


def _basic_size(kind: type) -> int:
    return int(type.__dict__["__basicsize__"].__get__(kind))


# Looks that lead on to other objects, and may lead far.
_list, _tuple = _sequence(list), _sequence(tuple)
_set = _stream(set, set.__iter__)
_frozenset = _stream(frozenset, frozenset.__iter__)
_deque = _stream(collections.deque, collections.deque.__iter__)
_WALKED = {_list, _tuple, _set, _frozenset, _deque, _dict, _object}
_BUILT_IN: dict[type, _Look] = {
    bytes: _plain(bytes),
    str: _plain(str),
    bytearray: _bytearray,
    array.array: _array,
    memoryview: _memoryview,
    # Pages of a file: the kernel takes them back when it needs them.
    mmap.mmap: _nothing,
    list: _list,
    tuple: _tuple,
    set: _set,
    frozenset: _frozenset,
    collections.deque: _deque,
    dict: _dict,
}


def _of_loaded_libraries() -> dict[type, _Look]:
    from outlive.notebook import frameworks

    return frameworks.looks()
