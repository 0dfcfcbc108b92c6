"""Who holds memory by the name of a variable: sizes, words, sharing, and the bounds of the walk."""

import collections
import gc
import mmap
import sys
import time
from dataclasses import dataclass

import pytest

from outlive.notebook import variables
from outlive.notebook.variables import survey
from support.paths import SCRIPTS

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


def test_large_containers_are_estimated_from_a_sample(monkeypatch):
    # What is found in the little time that there is depends on what else the machine does.
    monkeypatch.setattr(variables, "_SECONDS", 5.0)
    monkeypatch.setattr(variables, "_SECONDS_EACH", 1.0)
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
    # The interpreter may collect garbage in one of these, which takes as long as it takes.
    seconds = []
    for _ in range(3):
        began = time.monotonic()
        found = survey([[*named.items(), ("chain", chain), ("wide", wide)]], (), nowhere)
        seconds.append(time.monotonic() - began)
        assert not found.complete
    assert min(seconds) < 0.2
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


FRAMEWORKS = [
    "jax",
    "matplotlib",
    "numpy",
    "numpy_memory_maps_are_files",
    "pandas",
    "pillow",
    "polars",
    "pyarrow",
    "tensorflow",
    "torch",
]


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_what_things_of_frameworks_hold(lab, name):
    # Each in a process of its own: imported here, they would start threads in that of all tests.
    ended = lab.bare(sys.executable, SCRIPTS / "variables_of_frameworks.py", name)
    assert ended.returncode == 0, ended.stderr.decode()


def test_no_library_is_imported_for_it(lab):
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
