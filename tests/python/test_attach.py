"""The hook in an interpreter that ran before it came: replaced bindings instead of a preload."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from support import cgroup, paths, scenarios
from support.cgroup import MIB
from support.lab import holders_of
from support.paths import SCRIPTS

ROUNDS = 500
MARK = 1_234_567
ATTACHED = SCRIPTS / "attached.py"
KINDS = {
    "now": ("-Wl,-z,now", "-Wl,-z,relro"),
    "lazy": ("-Wl,-z,lazy",),
    "norelro": ("-Wl,-z,norelro", "-Wl,-z,lazy"),
}
LOAD_HOOK = "import ctypes, os, sys\nctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL)\n"
TAKE = """
def take(path, function="take"):
    library = ctypes.CDLL(path)
    getattr(library, function).restype = ctypes.c_void_p
    return getattr(library, function)(ctypes.c_size_t(1234567))
"""


@pytest.fixture(params=sorted(KINDS))
def plugin(compiler, request):
    return compiler.library("plugin.c", *KINDS[request.param], name=f"plugin_{request.param}")


def recorded(lab, text, *arguments, **variables):
    """Runs a script that loads the hook itself; its first argument is the hook."""
    environment = lab.hooked_environment()
    preload = variables.pop("preload", None)
    environment.pop("LD_PRELOAD")
    if preload:
        environment["LD_PRELOAD"] = str(preload)
    command = [sys.executable, "-c", text, paths.hook(), *arguments]
    return lab.bare(*command, env={**environment, **variables})


def attached(lab, script, *arguments, **options):
    return lab.bare(sys.executable, ATTACHED, script, *arguments, **options)


def test_threads_libraries_and_unloading_survive_five_hundred_rounds(lab, compiler):
    plugins = [
        compiler.library("plugin.c", *flags, name=f"{whose}_{kind}")
        for whose in ("threads", "kept")
        for kind, flags in KINDS.items()
    ]
    lab.run_folder.mkdir()
    busy = compiler.library("busy.c", "-lpthread")
    command = [paths.hook(), lab.run_folder, str(ROUNDS), busy, *plugins]
    ended = lab.bare(sys.executable, SCRIPTS / "attach_rounds.py", *command, timeout=600)
    assert ended.stdout.decode().strip() == str(ROUNDS), ended.stderr.decode()


@pytest.mark.parametrize("function", ["take", "take_by_pointer"])
def test_a_library_that_was_there_is_recorded(lab, plugin, function):
    text = TAKE + "ctypes.CDLL(sys.argv[2])\n" + LOAD_HOOK + "take(sys.argv[2], sys.argv[3])"
    ended = recorded(lab, "import ctypes, sys\n" + text, plugin, function)
    assert ended.returncode == 0, ended.stderr.decode()
    assert holders_of(lab.box(), MARK)


@pytest.mark.parametrize("function", ["take", "take_by_pointer"])
def test_a_library_that_comes_later_is_recorded(lab, plugin, function):
    ended = recorded(lab, LOAD_HOOK + TAKE + "take(sys.argv[2], sys.argv[3])", plugin, function)
    assert ended.returncode == 0, ended.stderr.decode()
    [holder] = holders_of(lab.box(), MARK)
    assert holder.kind == "python"


def test_a_library_in_the_place_of_another_is_recorded(lab, compiler):
    first, second = (
        compiler.library("plugin.c", *KINDS["now"], name=f"plugin_{name}") for name in "ab"
    )
    text = """
import _ctypes
for turn in range(40):
    handle = _ctypes.dlopen(sys.argv[2 + turn % 2], 2)
    _ctypes.dlclose(handle)
take(sys.argv[3])
"""
    ended = recorded(lab, LOAD_HOOK + TAKE + text, first, second)
    assert ended.returncode == 0, ended.stderr.decode()
    assert holders_of(lab.box(), MARK)


def test_pages_are_protected_as_before(lab, plugin):
    text = """
import ctypes, sys
def protections():
    mapped = [line.split() for line in open("/proc/self/maps") if ".so" in line or "python" in line]
    return [(words[5], words[0], words[1]) for words in mapped if "outlive" not in words[5]]
ctypes.CDLL(sys.argv[2])
import math, zlib
before = protections()
ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL)
after = protections()
assert before == after, set(before) ^ set(after)
assert any("outlive" in line for line in open("/proc/self/maps"))
"""
    ended = recorded(lab, text, plugin)
    assert ended.returncode == 0, ended.stderr.decode()


def test_the_loader_still_sees_who_asks(lab, compiler, tmp_path):
    # A name without a slash is looked for where the caller's own file says.
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    plugin = compiler.library("plugin.c", *KINDS["now"], name="plugin_now")
    (hidden / "libhidden.so").write_bytes(plugin.read_bytes())
    asks = compiler.library("asks.c", f"-Wl,-rpath,{hidden}", name="asks")
    text = """
asks = ctypes.CDLL(sys.argv[2])
asks.ask.restype = ctypes.c_void_p
library = asks.ask(b"libhidden.so")
assert library, "not found"
for _ in range(10_000):
    pass
take(sys.argv[3])
"""
    ended = recorded(lab, LOAD_HOOK + TAKE + text, asks, hidden / "libhidden.so")
    assert ended.returncode == 0, ended.stderr.decode()
    assert holders_of(lab.box(), MARK)


@pytest.mark.parametrize(
    "name", ["libjemalloc.so.2", "libmimalloc.so.2", "libtcmalloc_minimal.so.4"]
)
def test_another_allocator_stays_in_use(lab, plugin, name):
    library = Path("/usr/lib/x86_64-linux-gnu") / name
    if not library.exists():
        pytest.skip(f"no {name} here")
    text = TAKE + "take(sys.argv[2])\nblocks = [bytes(200_000) for _ in range(500)]\ndel blocks"
    ended = recorded(lab, LOAD_HOOK + text, plugin, preload=library)
    assert ended.returncode == 0, ended.stderr.decode()
    assert holders_of(lab.box(), MARK)


def test_a_library_with_an_allocator_of_its_own_keeps_it_and_is_named(lab, compiler):
    allocator = compiler.library("own_allocator.c", name="own_allocator")
    own = compiler.library("plugin.c", "-Wl,--no-as-needed", str(allocator), name="plugin_own")
    text = """
library = ctypes.CDLL(sys.argv[2], mode=os.RTLD_DEEPBIND | os.RTLD_NOW)
library.take.restype = ctypes.c_void_p
library.give.argtypes = [ctypes.c_void_p]
for _ in range(100):
    library.give(library.take(ctypes.c_size_t(500_000)))
"""
    ended = recorded(lab, LOAD_HOOK + text, own)
    assert ended.returncode == 0, ended.stderr.decode()
    assert any("allocator of its own" in note and "plugin_own" in note for note in lab.box().notes)


def test_what_is_not_bound_yet_is_left_to_the_librarys_own_allocator(lab, compiler):
    # Its `free` is bound at the first call, and must be that of its `malloc`, which was called.
    allocator = compiler.library("own_allocator.c", name="own_allocator")
    own = compiler.library(
        "plugin.c", "-Wl,-z,lazy", "-Wl,--no-as-needed", str(allocator), name="plugin_own_lazy"
    )
    text = """
import ctypes, os, sys
library = ctypes.CDLL(sys.argv[2], mode=os.RTLD_DEEPBIND | os.RTLD_LAZY)
library.take.restype = ctypes.c_void_p
library.give.argtypes = [ctypes.c_void_p]
block = library.take(ctypes.c_size_t(5000))
ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL)
library.give(block)
"""
    ended = recorded(lab, text, own)
    assert ended.returncode == 0, ended.stderr.decode()


def test_a_name_is_looked_for_where_those_say_who_brought_the_caller(lab, compiler, tmp_path):
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    plugin = compiler.library("plugin.c", *KINDS["now"], name="plugin_now")
    (hidden / "libinherited.so").write_bytes(plugin.read_bytes())
    asks = compiler.library("asks.c", name="asks_plain")
    brings = compiler.library(
        "plugin.c",
        "-Wl,--no-as-needed",
        str(asks),
        "-Wl,--disable-new-dtags",
        f"-Wl,-rpath,{hidden}",
        name="brings",
    )
    text = """
brings = ctypes.CDLL(sys.argv[2])
asks = ctypes.CDLL(sys.argv[3])
asks.ask.restype = ctypes.c_void_p
assert asks.ask(b"libinherited.so"), "not found"
"""
    ended = recorded(lab, LOAD_HOOK + text, brings, asks)
    assert ended.returncode == 0, ended.stderr.decode()


def test_every_interpreter_can_be_joined(lab, interpreter):
    script = lab.folder / "joins.py"
    script.write_text(
        "import ctypes, os, sys\n"
        "ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL)\n"
        "kept = bytearray(1234567)  # mark: here\n"
        "for _ in range(1000):\n    pass\n"
    )
    ended = interpreter.unhooked(lab, script)
    assert ended.returncode == 0, ended.stderr.decode()
    [holder] = holders_of(lab.box(), MARK)
    assert [(frame.line, Path(frame.file).name) for frame in holder.frames] == [(3, "joins.py")]


# With the guard, and the process that watches from beside.


SURVIVORS = [
    "make_grid_one_channel",
    "list_of_tensors",
    "small_objects",
    "pandas_merge",
    "pyarrow_table",
    "tf_variables_in_loop",
    "loss_accumulated",
    "words_of_a_text",
]


@pytest.mark.parametrize("is_before", [True, False], ids=["imported-before", "imported-after"])
@pytest.mark.parametrize("name", SURVIVORS)
def test_scenarios_survive(lab, name, is_before):
    scenario = scenarios.named(name)
    needs = scenario.header.get("needs", "").replace(" ", "") if is_before else ""
    environment = {
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "CUDA_VISIBLE_DEVICES": "",
        "SCENARIO_LIMIT": str(scenario.limit),
        "ATTACHED_AFTER": needs,
    }
    with cgroup.group_of(next(iter(cgroup.versions()), 1), scenario.limit) as group:
        ended = attached(lab, scenario.path, preexec_fn=group.enter, env=environment)
        assert group.kills() == 0
    assert ended.returncode == 0, ended.stderr.decode()
    *_, caught, survived = ended.stdout.decode().splitlines()
    assert caught.startswith("caught ")
    assert survived == "survived"


PROGRAM = """
import outlive
from outlive import OutOfHeadroom, _hook
assert not _hook.functions()
outlive.guard("300MiB")
outlive.guard("250MiB")
"""


def told(lab, text, **options):
    ended = lab.bare(sys.executable, "-c", PROGRAM + text, **options)
    assert ended.returncode == 0, ended.stderr.decode()
    return ended.stdout.decode()


def test_the_class_that_was_imported_before_is_the_one_that_is_raised(lab):
    text = """
def grow(kept):
    while True:
        kept.append(bytes(40_000))
def work():
    kept = []
    try:
        grow(kept)
    except OutOfHeadroom as error:
        return error.budget
print(work())
"""
    assert int(told(lab, text)) == 250 * MIB


def test_joined_from_another_thread_the_one_that_grows_is_stopped(lab):
    text = """
import sys, threading
import outlive
def join():
    outlive.guard("300MiB")
thread = threading.Thread(target=join)
thread.start()
thread.join()
for _ in range(1000):
    pass
def grow(kept):
    while True:
        kept.append(bytes(40_000))
def work():
    kept = []
    try:
        grow(kept)
    except outlive.OutOfHeadroom:
        print("stopped")
work()
"""
    ended = lab.bare(sys.executable, "-c", text)
    assert ended.stdout.decode() == "stopped\n", ended.stderr.decode()


def test_what_was_there_before_counts_once(lab):
    text = """
import outlive
kept = bytearray(b"x") * (200 << 20)
outlive.guard("600MiB")
print(outlive.usage().use >> 20)
more = bytearray(300 << 20)
"""
    ended = lab.bare(sys.executable, "-c", text)
    assert ended.returncode == 0, ended.stderr.decode()
    assert 200 <= int(ended.stdout) < 260


def test_many_open_files_do_not_matter(lab):
    text = """
import os, resource
_, most = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 4096), most))
opened = [os.open("/dev/null", os.O_RDONLY) for _ in range(1500)]
import outlive
outlive.guard("1GiB")
print("guarded")
"""
    ended = lab.bare(sys.executable, "-c", text)
    assert ended.stdout.decode() == "guarded\n", ended.stderr.decode()


def test_a_thread_that_a_constructor_waits_for_may_wait_for_children(lab, compiler):
    # The loader's lock is held meanwhile: nothing may be looked up then.
    waits = compiler.library("constructor.c", "-lpthread", name="constructor")
    ended = recorded(lab, LOAD_HOOK + "ctypes.CDLL(sys.argv[2])", waits)
    assert ended.returncode == 0, ended.stderr.decode()
    ended = lab.hooked(sys.executable, "-c", "import ctypes, sys; ctypes.CDLL(sys.argv[1])", waits)
    assert ended.returncode == 0, ended.stderr.decode()


def test_what_watches_is_nobodys_child_and_may_die(lab):
    text = """
import os, signal, time
try:
    os.waitpid(-1, os.WNOHANG)
    print("a child")
except ChildProcessError:
    print("no child")
found = [int(pid) for pid in os.listdir("/proc") if pid.isdigit()]
for pid in found:
    try:
        words = open(f"/proc/{pid}/cmdline").read().split("\\0")
    except OSError:
        continue
    if "watch" in words and str(os.getpid()) in words:
        os.kill(pid, signal.SIGKILL)
        print("killed")
time.sleep(0.2)
def tell(error):
    print(error.__notes__[0].partition("\\n")[0])
try:
    bytearray(400 << 20)
except MemoryError as error:
    tell(error)
"""
    first, second, third = told(lab, text).splitlines()
    assert (first, second) == ("no child", "killed")
    assert third.startswith("Asked for 400 MiB with ")


def test_programs_it_starts_are_recorded_too(lab):
    text = """
import multiprocessing, os, subprocess, sys
subprocess.run([sys.executable, "-c", "kept = bytearray(50 << 20)"], check=True)
pid = os.fork()
if pid == 0:
    kept = bytearray(50 << 20)
    os._exit(0)
os.waitpid(pid, 0)
print(len([name for name in os.listdir(os.environ["OUTLIVE_RUN_DIR"]) if name.endswith(".box")]))
"""
    assert told(lab, text).strip() == "3"


def test_its_end_is_explained(lab):
    text = PROGRAM + "import os\nkept = bytearray(99 << 20)\nos.kill(os.getpid(), 9)"
    victim = subprocess.Popen([sys.executable, "-c", text], env=lab.plain_environment())
    assert victim.wait(60) == -signal.SIGKILL
    answer = settled(lab)
    assert answer["verdict"]["id"] == "killed_from_outside"
    assert answer["first_death"]["status"]["signal"] == "SIGKILL"
    assert answer["holders"][0]["live_bytes"] >= 99 * MIB


def settled(lab):
    """The answer once the process beside has written it down."""
    for _ in range(100):
        answer = lab.why()
        if answer["run"]["ended_at_ns"] is not None:
            return answer
        subprocess.run(["sleep", "0.05"], check=True)
    pytest.fail("the end was not written down")


def test_a_process_that_is_only_recorded_says_so(lab):
    text = """
import outlive
try:
    outlive.guard("1GiB")
except outlive.NotGuarded as error:
    print(error)
"""
    ended = lab.supervised(sys.executable, "-c", text, flags=("--no-guard",))
    assert ended.stdout.decode().startswith("This process is recorded and not guarded\nhint: ")


def test_a_missing_program_is_one_clear_line(lab):
    text = """
import outlive
from outlive import _command
def nowhere():
    raise outlive.CommandError("The `outlive` program is not installed")
_command.program = nowhere
try:
    outlive.guard("1GiB")
except outlive.OutliveError as error:
    print(error)
"""
    ended = lab.bare(sys.executable, "-c", text)
    assert ended.stdout.decode().strip() == "The `outlive` program is not installed"


def test_a_disk_without_room_is_one_clear_line(lab):
    text = """
import outlive
try:
    outlive.guard("1GiB")
except outlive.OutliveError as error:
    print(error)
"""
    ended = lab.bare(sys.executable, "-c", text, env={"OUTLIVE_HOME": "/proc/none"})
    [line] = ended.stdout.decode().splitlines()
    assert "/proc/none" in line


def test_the_watching_process_answers_in_json(lab):
    victim = subprocess.Popen(["sleep", "5"])
    try:
        answer = lab.bare(paths.program(), "watch", str(victim.pid))
        line = json.loads(answer.stdout)
    finally:
        victim.kill()
        victim.wait()
    assert Path(line["directory"]).name == line["run"]
    assert line["environment"]["OUTLIVE_RUN_DIR"] == line["directory"]
    assert os.path.samefile(line["hook"], paths.hook())
