"""Who holds memory by the name of a variable: sizes, words, sharing, and the bounds of the walk."""

import collections
import gc
import mmap
import time
from dataclasses import dataclass

import pytest

from outlive.notebook.variables import survey

MIB = 1 << 20


def nowhere(address):
    """No block has a place."""
    return


def held(place_of=nowhere, **named):
    """Holders by name."""
    found = survey([list(named.items())], (), place_of)
    return {holder.name: holder for holder in found.holders}


def sizes(**named):
    """What names hold, in MiB, rounded."""
    return {name: round(holder.bytes / MIB) for name, holder in held(**named).items()}


def data(size=1):
    return bytearray(size * MIB)


@dataclass
class Record:
    body: object


class Slotted:
    __slots__ = ("body",)


def test_built_in_types_in_words():
    slotted = Slotted()
    slotted.body = data(3)
    found = held(
        blob=b"x" * MIB,
        text="é" * MIB,
        chunks=[data() for _ in range(3)],
        table={"a": data(2), "b": data(2)},
        queue=collections.deque([data()]),
        some={b"x" * MIB},
        record=Record([data(5)]),
        slotted=slotted,
        bound=collections.namedtuple("Pair", "a b")(data(), 1),
    )
    assert {name: (round(one.bytes / MIB), one.what) for name, one in found.items()} == {
        "blob": (1, "bytes"),
        "text": (1, "str"),
        "chunks": (3, "list of 3 bytearray objects"),
        "table": (4, "dict of 2 bytearray objects"),
        "queue": (1, "deque of 1 bytearray objects"),
        "some": (1, "set of 1 bytes objects"),
        "record": (5, "Record"),
        "slotted": (3, "Slotted"),
        "bound": (1, "Pair of 2 objects"),
    }
    assert [one.name for one in survey([[("a", data()), ("b", data(2))]], (), nowhere).holders] == [
        "b",
        "a",
    ]


def test_what_is_shared_counts_once_and_for_a_name_before_an_output():
    shared = data(4)
    groups = [[("a", [shared])], [("Out[1]", shared), ("Out[2]", data(2))]]
    found = survey(groups, (), nowhere).holders
    assert [(one.name, round(one.bytes / MIB)) for one in found] == [("a", 4), ("Out[2]", 2)]


def test_what_is_small_is_not_named():
    assert held(number=7, text="a", many=list(range(100)), nothing=None, module=gc, kind=int) == {}


def test_large_containers_are_estimated_from_a_sample():
    found = held(
        numbers=list(range(10**6, 2 * 10**6)),
        texts=[str(n) * 20 for n in range(10**5)],
        table={n: str(n) * 20 for n in range(10**5)},
        same=[data()] * 10**6,
    )
    assert found["numbers"].bytes == pytest.approx(36 * 10**6, rel=0.05)
    assert found["texts"].bytes == pytest.approx(15 * 10**6, rel=0.2)
    assert found["table"].bytes == pytest.approx(23 * 10**6, rel=0.3)
    assert round(found["same"].bytes / MIB) == 9
    assert found["numbers"].estimated
    assert not found["same"].estimated


def test_a_file_that_is_mapped_is_not_memory(tmp_path):
    (tmp_path / "file").write_bytes(bytes(4 * MIB))
    with (
        open(tmp_path / "file", "rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped,
    ):
        assert held(mapped=mapped) == {}


def test_the_walk_ends_in_time_whatever_there_is():
    chain = []
    for _ in range(10**6):
        chain = [chain]
    wide = [[[n] for n in range(1000)] for _ in range(1000)]
    named = {f"v{n}": {"a": [n], "b": (n, str(n))} for n in range(20_000)}
    began = time.monotonic()
    found = survey([[*named.items(), ("chain", chain), ("wide", wide)]], (), nowhere)
    assert time.monotonic() - began < 0.2
    assert not found.complete
    # The interpreter's own way to free a chain this long is recursive up to a depth only.
    while chain:
        chain = chain[0]


def test_places_are_those_of_most_of_the_bytes():
    numpy = pytest.importorskip("numpy")
    large, small = numpy.ones(MIB), numpy.ones(MIB // 4)
    places = {large.ctypes.data: "a.py:1 in f", small.ctypes.data: "b.py:2 in g"}

    def place_of(address):
        return (1, places[address]) if address in places else None

    found = survey([[("both", [small, large])]], (), place_of)
    assert found.holders[0].place == "a.py:1 in f"
    assert found.lines == {"a.py:1 in f": 8 * MIB, "b.py:2 in g": 2 * MIB}


def test_numpy():
    numpy = pytest.importorskip("numpy")
    whole = numpy.ones((4, MIB // 8))
    assert sizes(view=whole[0, :5]) == {"view": 4}
    assert sizes(first=whole[0], second=whole[1]) == {"second": 4}
    assert held(a=whole)["a"].what == "float64 array of 4, 131072"
    assert sizes(broad=numpy.broadcast_to(numpy.ones(1), (MIB, 100))) == {}
    assert sizes(over=numpy.frombuffer(data(2), dtype="u1")) == {"over": 2}
    objects = numpy.array([str(n) * 100 for n in range(10_000)], dtype=object)
    assert held(objects=objects)["objects"].bytes == pytest.approx(4.5 * 10**6, rel=0.2)

    class Loud(numpy.ndarray):
        def __array_finalize__(self, thing):
            pass

        @property
        def nbytes(self):
            raise RuntimeError("never ask")

        base = shape = dtype = nbytes

    assert sizes(loud=whole.view(Loud)) == {"loud": 4}


def test_numpy_memory_maps_are_files(tmp_path):
    numpy = pytest.importorskip("numpy")
    made = numpy.memmap(tmp_path / "file", dtype="u1", mode="w+", shape=(4 * MIB,))
    assert sizes(made=made, part=made[5:]) == {}


def test_torch():
    torch = pytest.importorskip("torch")
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


def test_pandas():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": range(MIB), "b": 1.5})
    assert sizes(frame=frame) == {"frame": 16}
    assert held(frame=frame)["frame"].what == "pandas DataFrame of 1048576, 2"
    assert sizes(column=frame["a"]) in ({"column": 8}, {"column": 16})
    texts = pandas.Series([str(n) * 10 for n in range(10_000)])
    assert held(texts=texts)["texts"].bytes > 300_000


def test_polars():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"a": range(MIB)})
    assert sizes(frame=frame, lazy=frame.lazy()) == {"frame": 8}


def test_pyarrow():
    arrow = pytest.importorskip("pyarrow")
    table = arrow.table({"a": arrow.array(range(MIB))})
    assert sizes(table=table, again=table.slice(5)) in ({"table": 8}, {"again": 8})


def test_tensorflow():
    tensorflow = pytest.importorskip("tensorflow")
    tensor = tensorflow.ones((4, MIB // 4))
    assert held(a=tensor)["a"].what == "float32 tensor of 4, 262144"
    assert sizes(a=tensor, v=tensorflow.Variable(tensor)) == {"a": 4, "v": 4}


def test_jax():
    jax = pytest.importorskip("jax")
    assert sizes(a=jax.numpy.ones(MIB)) == {"a": 4}


def test_pillow():
    image = pytest.importorskip("PIL.Image")
    assert sizes(a=image.new("RGB", (1024, 1024)), b=image.new("L", (1024, 1024))) == {
        "a": 4,
        "b": 1,
    }


def test_matplotlib():
    figure = pytest.importorskip("matplotlib.figure")
    numpy = pytest.importorskip("numpy")
    drawn = figure.Figure()
    drawn.subplots().imshow(numpy.ones((1024, 1024)))
    assert sizes(drawn=drawn)["drawn"] >= 8


def test_no_library_is_imported_for_it(lab):
    import sys

    code = (
        "import sys\n"
        "from outlive.notebook import variables, namespace, explanation, extension\n"
        "variables.survey([[('a', [bytearray(1 << 20)])]], (), lambda address: None)\n"
        "print([name for name in ('numpy', 'torch', 'pandas', 'IPython', 'ipykernel')"
        " if name in sys.modules])"
    )
    assert lab.bare(sys.executable, "-c", code).stdout == b"[]\n"


def test_the_collector_is_left_as_it_was():
    from types import SimpleNamespace

    from outlive.notebook import namespace

    shell = SimpleNamespace(user_ns={"a": data()}, user_ns_hidden={}, user_module=None)
    for switch in (gc.disable, gc.enable):
        switch()
        before = gc.isenabled()
        assert namespace.surveyed(shell).holders[0].name == "a"
        assert gc.isenabled() == before
