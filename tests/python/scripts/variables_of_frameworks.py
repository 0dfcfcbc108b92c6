"""What things of a framework hold, by variable; the argument names the framework."""

import sys
import tempfile
from importlib import import_module

from outlive.notebook.variables import survey

MIB = 1 << 20


def held(**named):
    """Holders by name."""
    found = survey([list(named.items())], (), lambda address: None)
    return {holder.name: holder for holder in found.holders}


def sizes(**named):
    """What names hold, in MiB, rounded."""
    return {name: round(holder.bytes / MIB) for name, holder in held(**named).items()}


def data(size=1):
    return bytearray(size * MIB)


def numpy():
    numpy = import_module("numpy")
    whole = numpy.ones((4, MIB // 8))
    assert sizes(view=whole[0, :5]) == {"view": 4}
    assert sizes(first=whole[0], second=whole[1]) == {"second": 4}
    assert held(a=whole)["a"].what == "float64 array of 4, 131072"
    assert sizes(broad=numpy.broadcast_to(numpy.ones(1), (MIB, 100))) == {}
    assert sizes(over=numpy.frombuffer(data(2), dtype="u1")) == {"over": 2}
    objects = numpy.array([str(n) * 100 for n in range(10_000)], dtype=object)
    assert 3.6 * 10**6 < held(objects=objects)["objects"].bytes < 5.4 * 10**6

    class Loud(numpy.ndarray):
        def __array_finalize__(self, thing):
            pass

        @property
        def nbytes(self):
            raise RuntimeError("never ask")

        base = shape = dtype = nbytes

    assert sizes(loud=whole.view(Loud)) == {"loud": 4}


def numpy_memory_maps_are_files():
    numpy = import_module("numpy")
    made = numpy.memmap(tempfile.TemporaryFile(), dtype="u1", mode="w+", shape=(4 * MIB,))
    assert sizes(made=made, part=made[5:]) == {}


def torch():
    torch = import_module("torch")
    whole = torch.ones(4, MIB // 4)
    assert held(a=whole)["a"].what == "float32 tensor of 4, 262144"
    assert sizes(part=whole[0, :3]) == {"part": 4}
    assert sizes(a=whole, b=whole.view(-1), c=whole.numpy()) in ({"a": 4}, {"b": 4}, {"c": 4})
    layer = torch.nn.Linear(1024, 512)
    assert sizes(layer=layer) == {"layer": 2}
    layer(torch.ones(1, 1024)).sum().backward()
    assert sizes(layer=layer) == {"layer": 4}
    assert held(layer=layer)["layer"].what == "Linear (torch module)"
    assert (
        held(many=[torch.ones(MIB) for _ in range(3)])["many"].what == "list of 3 float32 tensors"
    )
    assert sizes(meta=torch.ones(MIB, device="meta")) == {}
    sparse = torch.ones(MIB).to_sparse()
    assert sizes(sparse=sparse) == {"sparse": 12}

    class Loud(torch.Tensor):
        @classmethod
        def __torch_function__(cls, *arguments, **named):
            raise RuntimeError("never ask")

    with torch._C.DisableTorchFunction():
        loud = whole.as_subclass(Loud)
    assert sizes(loud=loud) == {"loud": 4}


def pandas():
    pandas = import_module("pandas")
    frame = pandas.DataFrame({"a": range(MIB), "b": 1.5})
    assert sizes(frame=frame) == {"frame": 16}
    assert held(frame=frame)["frame"].what == "pandas DataFrame of 1048576, 2"
    assert sizes(column=frame["a"]) in ({"column": 8}, {"column": 16})
    texts = pandas.Series([str(n) * 10 for n in range(10_000)])
    assert held(texts=texts)["texts"].bytes > 300_000


def polars():
    polars = import_module("polars")
    frame = polars.DataFrame({"a": range(MIB)})
    assert sizes(frame=frame, lazy=frame.lazy()) == {"frame": 8}


def pyarrow():
    arrow = import_module("pyarrow")
    table = arrow.table({"a": arrow.array(range(MIB))})
    assert sizes(table=table, again=table.slice(5)) in ({"table": 8}, {"again": 8})


def tensorflow():
    tensorflow = import_module("tensorflow")
    tensor = tensorflow.ones((4, MIB // 4))
    assert held(a=tensor)["a"].what == "float32 tensor of 4, 262144"
    assert sizes(a=tensor, v=tensorflow.Variable(tensor)) == {"a": 4, "v": 4}


def jax():
    jax = import_module("jax")
    assert sizes(a=jax.numpy.ones(MIB)) == {"a": 4}


def pillow():
    image = import_module("PIL.Image")
    assert sizes(a=image.new("RGB", (1024, 1024)), b=image.new("L", (1024, 1024))) == {
        "a": 4,
        "b": 1,
    }


def matplotlib():
    figure = import_module("matplotlib.figure")
    numpy = import_module("numpy")
    drawn = figure.Figure()
    drawn.subplots().imshow(numpy.ones((1024, 1024)))
    assert sizes(drawn=drawn)["drawn"] >= 8


globals()[sys.argv[1]]()
