"""Arrays, tensors and frames of the libraries that are loaded: where their memory is.

Only attributes and functions of the libraries' own types are used, and only cheap ones: nothing is
copied, computed or moved. Memory of a GPU is none of the host's and counts as nothing.
"""

from __future__ import annotations

from typing import Any, Callable

from outlive.notebook.buffers import Buffer, Class, Contents, Thing, library_class, mro

_Look = Callable[[Any], Contents]
_NOTHING = Contents([], [])
# Of an array of objects; more are estimated from these.
_OBJECTS_LOOKED_AT = 256
_WORTH_AN_ADDRESS = 1024


def looks() -> dict[type, _Look]:
    """How to look into what the loaded libraries make, by class."""
    table = [
        ("torch", "UntypedStorage", _torch_storage),
        ("pandas", "DataFrame", _pandas),
        ("pandas", "Series", _pandas),
        ("pandas", "Index", _pandas_index),
        ("polars", "DataFrame", _polars),
        ("polars", "Series", _polars),
        ("polars", "LazyFrame", _nothing),
        ("pyarrow", "Table", _arrow_columns),
        ("pyarrow", "RecordBatch", _arrow_columns),
        ("pyarrow", "ChunkedArray", _arrow_chunks),
        ("pyarrow", "Array", _arrow_array),
        ("pyarrow", "Buffer", _arrow_buffer),
        ("tensorflow.python.framework.ops", "EagerTensor", _tensorflow),
        ("tensorflow.python.ops.resource_variable_ops", "BaseResourceVariable", _tensorflow),
        ("jaxlib._jax", "ArrayImpl", _jax),
        ("jax._src.array", "ArrayImpl", _jax),
        ("PIL.Image", "Image", _pillow),
    ]
    found: dict[type, _Look] = {}
    for module, name, make in (("numpy", "ndarray", _numpy), ("torch", "Tensor", _torch)):
        kind = library_class(module, name)
        if kind is not None:
            found[kind] = make(kind)
    for module, name, look in table:
        kind = library_class(module, name)
        if kind is not None:
            found[kind] = look
    return found


def _nothing(_: Thing) -> Contents:
    return _NOTHING


def _numpy(kind: Class) -> _Look:
    base_of, bytes_of, dtype_of = kind.base.__get__, kind.nbytes.__get__, kind.dtype.__get__
    memmap = library_class("numpy", "memmap")

    def look(thing: Thing) -> Contents:
        if memmap in mro(type(thing)) and thing.mode != "c":
            return _NOTHING
        base = base_of(thing)
        while base is not None and kind in mro(type(base)):
            thing, base = base, base_of(base)
        if base is not None and not type(base).__name__.endswith("Capsule"):
            # A view into a tensor, bytes, a file: whose memory it is.
            return Contents([], [base])
        count = bytes_of(thing)
        # The address is dear to ask for.
        large = count >= _WORTH_AN_ADDRESS
        address = kind.__array_interface__.__get__(thing)["data"][0] if large else 0
        if not dtype_of(thing).hasobject:
            return Contents([Buffer(address, count)], [])
        length = kind.size.__get__(thing)
        step = max(length // _OBJECTS_LOOKED_AT, 1)
        objects = [kind.item(thing, place) for place in range(0, length, step)]
        return Contents([Buffer(address, count)], objects, length / max(len(objects), 1))

    return look


def _torch(kind: Class) -> _Look:
    is_cpu, is_sparse, wants_gradient = (
        kind.is_cpu.__get__,
        kind.is_sparse.__get__,
        kind.requires_grad.__get__,
    )

    def look(thing: Thing) -> Contents:
        children = []
        if wants_gradient(thing) and kind.is_leaf.__get__(thing):
            gradient = kind.grad.__get__(thing)
            children = [] if gradient is None else [gradient]
        if not is_cpu(thing):
            return Contents([], children)
        if is_sparse(thing):
            return Contents([], [*children, kind._indices(thing), kind._values(thing)])
        storage = kind.untyped_storage(thing)
        return Contents([Buffer(storage.data_ptr(), storage.nbytes())], children)

    return look


def _torch_storage(thing: Thing) -> Contents:
    if str(thing.device) != "cpu":
        return _NOTHING
    return Contents([Buffer(thing.data_ptr(), thing.nbytes())], [])


def _pandas(thing: Thing) -> Contents:
    blocks = object.__getattribute__(thing, "_mgr")
    return Contents([], [*(block.values for block in blocks.blocks), *blocks.axes])


def _pandas_index(thing: Thing) -> Contents:
    # Not `vars`: the cache in it holds a second copy of some, which is looked at as well.
    attributes = object.__getattribute__(thing, "__dict__")
    return Contents([], [attributes.get("_data"), attributes.get("_cache")])


def _polars(thing: Thing) -> Contents:
    return Contents([Buffer(0, int(thing.estimated_size()))], [])


def _arrow_columns(thing: Thing) -> Contents:
    return Contents([], list(thing.columns))


def _arrow_chunks(thing: Thing) -> Contents:
    return Contents([], list(thing.chunks))


def _arrow_array(thing: Thing) -> Contents:
    buffers = [one for one in thing.buffers() if one is not None and one.is_cpu]
    return Contents([Buffer(one.address, one.size) for one in buffers], [])


def _arrow_buffer(thing: Thing) -> Contents:
    return Contents([Buffer(thing.address, thing.size)] if thing.is_cpu else [], [])


def _tensorflow(thing: Thing) -> Contents:
    if "CPU" not in (thing.device or "CPU"):
        return _NOTHING
    count = thing.shape.num_elements() or 0
    return Contents([Buffer(0, count * thing.dtype.size)], [])


def _jax(thing: Thing) -> Contents:
    if any(device.platform != "cpu" for device in thing.devices()):
        return _NOTHING
    return Contents([Buffer(0, int(thing.nbytes))], [])


def _pillow(thing: Thing) -> Contents:
    attributes = object.__getattribute__(thing, "__dict__")
    width, height = attributes.get("_size", (0, 0))
    # A file that was opened and not read has no pixels yet.
    if attributes.get("_im", attributes.get("im")) is None:
        return _NOTHING
    wide = {"1": 1, "L": 1, "P": 1, "I;16": 2}.get(str(attributes.get("_mode", "RGB")), 4)
    return Contents([Buffer(0, width * height * wide)], [])
