"""What an object is, in a few words: `float32 tensor of 64, 3, 128, 128`, `list of 80 strings`."""

from __future__ import annotations

import collections
import itertools
from typing import Any

from outlive.notebook.buffers import Class, Thing, library_class, mro, name_of

# Elements that are looked at before a list is called a list of them.
_ASKED = 16
_CONTAINERS = (list, tuple, set, frozenset, dict, collections.deque)
_PLURALS = {"bytes": "bytes objects", "str": "strings", "dict": "dicts", "int": "numbers"}
_LONGEST = 80


def words(thing: Thing) -> str:
    """An object in words; its class alone where more cannot be told."""
    try:
        return _words(thing)[:_LONGEST]
    except Exception:
        return name_of(type(thing))[:_LONGEST]


def _words(thing: Thing) -> str:
    kind = type(thing)
    array = _array_words(thing)
    if array is not None:
        dtype, noun, shape = array
        dimensions = ", ".join(str(length) for length in shape)
        return f"{dtype} {noun} of {dimensions}".strip() if shape else f"{dtype} {noun}".strip()
    for container in _CONTAINERS:
        if container in mro(kind):
            return f"{name_of(kind)} of {_elements(container, thing)}"
    if library_class("torch.nn", "Module") in mro(kind):
        return f"{name_of(kind)} (torch module)"
    return name_of(kind)


def _elements(container: Class, thing: Thing) -> str:
    count = container.__len__(thing)
    parts = dict.values(thing) if container is dict else container.__iter__(thing)
    some = list(itertools.islice(parts, _ASKED))
    nouns = {_noun(one) for one in some}
    if len(nouns) != 1:
        return f"{count:,} objects"
    return f"{count:,} {nouns.pop()}"


def _noun(thing: Thing) -> str:
    array = _array_words(thing)
    if array is not None:
        dtype, noun, _ = array
        return f"{dtype} {noun}s".strip()
    name = name_of(type(thing))
    return _PLURALS.get(name, f"{name} objects")


def _array_words(thing: Thing) -> tuple[str, str, tuple[Any, ...]] | None:
    """Element type, noun and shape of what has them."""
    classes = mro(type(thing))
    for module, name, noun in _ARRAYS:
        if library_class(module, name) in classes:
            dtype = str(getattr(thing.dtype, "name", thing.dtype)).replace("torch.", "")
            return dtype, noun, tuple(thing.shape)
    for module, name in _FRAMES:
        if library_class(module, name) in classes:
            return "", f"{module} {name}", tuple(thing.shape)
    return None


_ARRAYS = (
    ("numpy", "ndarray", "array"),
    ("torch", "Tensor", "tensor"),
    ("tensorflow.python.framework.ops", "EagerTensor", "tensor"),
    ("tensorflow.python.ops.resource_variable_ops", "BaseResourceVariable", "variable"),
    ("jaxlib._jax", "ArrayImpl", "array"),
    ("jax._src.array", "ArrayImpl", "array"),
)
_FRAMES = (
    ("pandas", "DataFrame"),
    ("pandas", "Series"),
    ("polars", "DataFrame"),
    ("polars", "Series"),
    ("pyarrow", "Table"),
)
