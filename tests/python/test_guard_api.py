"""What a program can ask about its memory, and of the guard around it."""

import copy
import json
import pickle
import sys
import traceback
from pathlib import Path

import pytest

import outlive
from outlive import _machine
from support import cgroup
from support.paths import SCRIPTS

MIB = 1 << 20
GIB = 1 << 30
CALLS = SCRIPTS / "guard_calls.py"


@pytest.fixture(params=[1, 2], ids=["v1", "v2"])
def version(request):
    if request.param not in cgroup.versions():
        pytest.skip(f"no memory cgroup (version {request.param}) can be made here")
    return request.param


def answer(ended):
    """What a script printed."""
    assert ended.returncode == 0, ended.stderr.decode()
    return json.loads(ended.stdout)


def guarded(lab, *words, flags=("--limit=400MiB",), **options):
    """The answer of a script under the guard."""
    return answer(lab.supervised(sys.executable, CALLS, *words, flags=flags, **options))


# Without the guard.


def test_usage_is_that_of_the_tightest_cgroup_and_page_cache_is_not_use(lab, version):
    with cgroup.group_of(version, 300 * MIB) as group:
        command = [sys.executable, CALLS, "usage", lab.folder / "cached"]
        told = answer(lab.bare(*command, preexec_fn=group.enter))
    assert told["budget"] == 300 * MIB
    assert told["source"] == f"memory cgroup {in_hierarchy(group)}"
    assert 4 * MIB < told["use"] < 60 * MIB
    assert told["headroom"] == told["budget"] - told["use"]
    assert 4 * MIB < told["resident"] < 60 * MIB
    assert told["untouched"] == 0
    assert abs(told["alone"] - told["headroom"]) < 20 * MIB
    assert " of 300 MiB (" in told["text"]
    assert told["text"].endswith(f"; budget by {told['source']}")


def in_hierarchy(group):
    root = cgroup.V1 if group.version == 1 else cgroup.V2
    return Path("/") / group.path.relative_to(root)


def test_a_limit_of_an_outer_cgroup_counts(lab, version):
    with cgroup.group_of(version, 300 * MIB) as group:
        command = [sys.executable, CALLS, "usage_in_inner_group", group.path]
        told = answer(lab.bare(*command, preexec_fn=group.enter))
    assert (told["budget"], told["source"]) == (300 * MIB, f"memory cgroup {in_hierarchy(group)}")


def test_a_limit_of_the_process_counts(lab):
    told = answer(lab.bare(sys.executable, CALLS, "limited_process"))
    assert (told["budget"], told["source"]) == (told["limit"], "RLIMIT_AS")
    assert 90 * MIB < told["headroom"] <= 100 * MIB


def test_a_container_of_the_second_version_sees_its_own_group_at_the_mount_point(tmp_path):
    (tmp_path / "memory.max").write_text("1048576000\n")
    (tmp_path / "memory.current").write_text("700000000\n")
    statistics = "anon 200000000\ninactive_file 300000000\nactive_file 100000000\n"
    (tmp_path / "memory.stat").write_text(f"{statistics}slab_reclaimable 50000000\n")
    mountinfo = f"31 30 0:27 /kubepods/pod7 {tmp_path} ro,nosuid shared:10 - cgroup2 cgroup rw\n"
    [mount] = _machine._mounts(f"22 1 0:20 / /proc rw - proc proc rw\n{mountinfo}")
    own = _machine._own_path("0::/kubepods/pod7\n", mount.version)
    [folder] = _machine._chain(mount, own)
    room = _machine._cgroup_room(mount, folder)
    assert room == (1_048_576_000, 250_000_000, "memory cgroup /")
    (tmp_path / "memory.max").write_text("max\n")
    assert _machine._cgroup_room(mount, folder) is None


def test_without_the_guard_one_line_says_how_to_get_it(lab):
    hint = "hint: call `outlive.guard` first, or start it with `outlive run -- python …`"
    sparse = f"`outlive.sparse` needs the guard, and this process runs without it\n{hint}"
    recorded = (
        "This process is recorded and not guarded\n"
        "hint: start it without `--no-guard`, or without `outlive run`"
    )
    command = [sys.executable, CALLS, "not_guarded"]
    assert answer(lab.bare(*command)) == [sparse]
    assert answer(lab.supervised(*command, flags=["--no-guard"])) == [sparse, recorded]
    assert issubclass(outlive.NotGuarded, outlive.OutliveError)


# The exception.

FACTS = {
    "requested": 3 * GIB,
    "headroom": 118 * MIB,
    "budget": 8 * GIB,
    "source": "memory cgroup /user.slice",
    "holders": (
        (3 * GIB + GIB // 10, "train.py:22 in load"),
        (190 * MIB, "train.py:40 in step"),
        (90 * MIB, "train.py:50 in report"),
    ),
}


def test_the_exception_tells_its_facts():
    error = outlive.OutOfHeadroom(**FACTS)
    assert isinstance(error, MemoryError)
    assert {name: getattr(error, name) for name in FACTS} == FACTS
    assert traceback.format_exception_only(type(error), error) == [
        "outlive.OutOfHeadroom: Asked for 3.0 GiB with 118 MiB of headroom left of a budget of "
        "8.0 GiB (memory cgroup /user.slice)\n"
        "  held by   3.1 GiB  train.py:22 in load\n"
        "            190 MiB  train.py:40 in step\n"
        "hint: let go of what these lines hold or take smaller batches; "
        "`outlive.retry` does it and tries again\n"
    ]


def test_the_hint_speaks_of_what_is_shown():
    def hint(*holders):
        return str(outlive.OutOfHeadroom(budget=GIB, holders=holders)).rpartition("hint: ")[2]

    assert hint().startswith("let go of what is no longer needed or")
    assert hint((40 * MIB, "a.py:1"), (MIB, "b.py:2")).startswith("let go of what this line holds")
    assert hint((40 * MIB, "a.py:1"), (2 * MIB, "b.py:2")).startswith("let go of what these lines")


def test_a_request_larger_than_the_budget_names_the_way_out_for_sparse_arrays():
    text = str(outlive.OutOfHeadroom(requested=9 * GIB, headroom=GIB, budget=8 * GIB))
    assert "`with outlive.sparse():` or with `--allow-sparse`" in text
    text = str(outlive.OutOfHeadroom(requested=8 * GIB, headroom=GIB, budget=8 * GIB))
    assert "sparse" not in text


def test_the_exception_can_be_made_of_nothing_or_of_a_message():
    empty = outlive.OutOfHeadroom()
    assert str(empty).startswith("Growth was stopped with little headroom left\nhint: ")
    assert (empty.requested, empty.holders) == (None, ())
    # A DataLoader makes the error of a worker again from its text.
    assert str(outlive.OutOfHeadroom("Caught in worker 0")) == "Caught in worker 0"


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_the_exception_survives_a_pickle_with_its_facts(protocol):
    for error in (outlive.OutOfHeadroom(**FACTS), outlive.OutOfHeadroom("text", **FACTS)):
        error.__notes__ = ["a note"]
        again = pickle.loads(pickle.dumps(error, protocol))
        assert type(again) is outlive.OutOfHeadroom
        assert (vars(again), again.args, str(again)) == (vars(error), error.args, str(error))
    assert pickle.loads(pickle.dumps(outlive.OutOfHeadroom, protocol)) is outlive.OutOfHeadroom
    assert copy.copy(error).budget == 8 * GIB


@pytest.mark.parametrize("known", ["facts", "nothing", "broken"])
def test_where_the_package_cannot_be_imported_a_memory_error_arrives(lab, known):
    text = Path(outlive.__file__).parent / "_out_of_headroom.py"
    # Neither this environment's packages nor the script's neighbours: `-I` and a copy elsewhere.
    ended = lab.bare(sys.executable, "-I", "-S", SCRIPTS / "headroom_text.py", text, known)
    assert ended.returncode == 0, ended.stderr.decode()
    told, _, arrived = ended.stdout.decode().partition("--\n")
    assert arrived == "MemoryError True\n"
    if known == "facts":
        first = "Growth was stopped with 5.0 MiB of headroom left of a budget of 2.0 GiB (--limit)"
        assert told.startswith(f"{first}\n  held by   1.0 GiB  train.py:22 in load\n")
    else:
        assert told.startswith("Growth was stopped with little headroom left\n")


# Under the guard.


def test_usage_under_the_guard_is_the_guards(lab, version):
    with cgroup.group_of(version, 400 * MIB) as group:
        words = ["usage", lab.folder / "cached"]
        told = guarded(lab, *words, flags=(), preexec_fn=group.enter)
    assert 380 * MIB < told["budget"] < 400 * MIB
    assert told["source"] == f"memory cgroup {in_hierarchy(group)}"
    assert told["headroom"] == told["budget"] - told["use"]
    assert 4 * MIB < told["use"] < 100 * MIB


def test_a_guard_holds_inside_its_block(lab):
    assert guarded(lab, "block") == [True, False, True, "outlive.guard"]


def test_a_guard_that_is_called_holds_for_the_rest_of_the_process(lab):
    assert guarded(lab, "rest") == [False, True]


def test_of_nested_guards_the_lowest_holds(lab):
    use, half, whole, first, higher, share, after = guarded(lab, "nested")
    assert whole == after > first
    assert first == higher <= use + 100 * MIB
    assert share <= half < first


def test_a_limit_that_makes_no_sense_gets_one_line_and_changes_nothing(lab):
    *messages, granted = guarded(lab, "nonsense")
    assert messages[:9] == [
        "Limit `0` is not above 0",
        "Limit `-1` is not a limit",
        "Limit `12XB` is not a limit",
        "Limit `` is not a limit",
        "Limit `0%` is not from `1%` to `100%`",
        "Limit `150%` is not from `1%` to `100%`",
        "Limit `auto` is not a limit",
        "Limit `0` is not above 0",
        "Limit `-1` is not above 0",
    ]
    assert messages[9].startswith("Limit `1MiB` is 1.0 MiB, below the ")
    assert messages[10:] == [
        "Limit must be a whole number of bytes or text, not `None`",
        "Limit must be a whole number of bytes or text, not `1.5`",
    ]
    assert granted


def test_sparse_lets_large_requests_of_its_thread_through(lab):
    # Outside, nested, inside, in another thread, after.
    assert guarded(lab, "sparse", str(2 * GIB)) == [False, True, True, False, False]


def test_stopped_growth_raises_the_packages_own_class_with_its_facts(lab):
    told = guarded(lab, "stopped")
    assert told["same"] == [True, True, True]
    assert told["requested"] is None
    assert 300 * MIB < told["size"] < 400 * MIB
    assert (told["budget"], told["source"]) == (pytest.approx(400 * MIB, rel=0.02), "--limit")
    size, place = told["holders"][0]
    assert size > 200 * MIB
    assert place.startswith(f"{CALLS}:")
    assert place.endswith(" in stopped")
    assert place in told["text"]


def test_a_stop_in_a_worker_arrives_with_its_facts(lab):
    told = guarded(lab, "stopped_in_pool")
    assert told["budget"] == pytest.approx(400 * MIB, rel=0.02)
    assert told["holders"][0][1].endswith(" in _grow")
    assert told["text"].startswith("Growth was stopped with ")
