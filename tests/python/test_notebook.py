"""In a real kernel: a refused cell explains itself, its traceback stays, the kernel lives."""

import sys

import pytest

from support.kernels import kernel

pytest.importorskip("ipykernel")
MIB = 1 << 20


@pytest.fixture
def guarded(lab):
    """A kernel with a budget of 512 MiB and the extension loaded by configuration."""
    with kernel(lab, limit="512MiB") as started:
        yield started


def plain(ran):
    """The text of the only block."""
    return ran.block["text/plain"]


def test_a_refused_cell_explains_itself_and_the_kernel_lives(guarded):
    guarded.run("kept = bytearray(100 << 20)")
    ran = guarded.run("x = 1\nfar_too_large = bytearray(2 << 30)")
    assert ran.status == "error"
    assert ran.error.startswith("MemoryError")
    first, code, *rest = plain(ran).splitlines()
    assert first.startswith("Outlive refused 2.0 GiB at cell [2] line 2: ")
    assert code == "    far_too_large = bytearray(2 << 30)"
    text = "\n".join(rest)
    assert "(--limit)" in text
    assert "100 MiB  kept " in text
    assert "do not fit into 47" in text
    # The traceback is IPython's own.
    assert "far_too_large" in ran.traceback
    assert guarded.value("len(kept), x") == f"({100 * MIB}, 1)"


def test_a_request_that_would_fit_names_what_can_be_freed(guarded):
    guarded.run("kept = bytearray(300 << 20)")
    text = plain(guarded.run("more = bytearray(300 << 20)"))
    assert "`%outlive free kept` gives back about 300 MiB, which is enough" in text


def test_stopped_growth_names_the_line_that_grew(guarded):
    ran = guarded.run("rows = []\nwhile True:\n    rows.append('%d' % len(rows) * 200)")
    assert ran.error.startswith("OutOfHeadroom")
    text = plain(ran)
    assert text.startswith("Outlive stopped growing memory at cell [1] line 3: ")
    assert "rows.append('%d' % len(rows) * 200)" in text
    assert "list of " in text
    assert "Memory grew at cell [1] line 3" in text
    assert guarded.value("len(rows) > 1000") == "True"


def test_growth_that_is_free_again_is_blamed_on_the_statement_that_failed(guarded):
    guarded.run("words = [str(number) * 20 for number in range(100_000)]")
    text = plain(guarded.run("pages = [word * 400 for word in words]"))
    assert "by the statement that failed, free again" in text
    assert "Memory grew at cell [2] line 1: " in text


def test_a_local_variable_of_a_function_is_named(guarded):
    guarded.run(
        "def work():\n    inner = bytearray(200 << 20)\n    return inner, bytearray(1 << 30)"
    )
    text = plain(guarded.run("work()"))
    assert "200 MiB  inner in work()" in text
    assert text.startswith("Outlive refused 1.0 GiB at cell [1] line 3 in work: ")


def test_numpy_names_the_owner_of_a_view_and_where_it_was_made(guarded):
    pytest.importorskip("numpy")
    guarded.run("import numpy\nview = numpy.ones(20 << 20)[:10]")
    text = plain(guarded.run("numpy.ones(1 << 30)"))
    assert "160 MiB  view " in text
    assert "made at cell [1] line 2" in text


@pytest.mark.parametrize(
    "cell",
    [
        "raise MemoryError('mine')",
        "try:\n    bytearray(2 << 30)\nexcept MemoryError:\n    pass\nraise MemoryError('mine')",
        "raise ValueError('Asked for 3 things')",
        "1 / 0",
        "import ctypes\nraise OSError(12, 'Cannot allocate memory')",
    ],
)
def test_an_error_that_the_guard_did_not_cause_gets_no_figures(guarded, cell):
    ran = guarded.run(cell)
    assert ran.status == "error"
    assert ran.blocks == []


@pytest.mark.parametrize(
    "cell",
    [
        "try:\n    bytearray(2 << 30)\nexcept MemoryError as error:\n"
        "    raise ValueError('outer') from error",
        "try:\n    bytearray(2 << 30)\nexcept MemoryError:\n    raise ValueError('outer')",
    ],
)
def test_an_error_that_came_from_a_refusal_is_explained(guarded, cell):
    ran = guarded.run(cell)
    assert ran.error == "ValueError: outer"
    assert plain(ran).startswith("Outlive refused 2.0 GiB at cell [1] line 2: ")


def test_an_error_that_hides_the_refusal_hides_the_block(guarded):
    ran = guarded.run(
        "try:\n    bytearray(2 << 30)\nexcept MemoryError:\n    raise ValueError('outer') from None"
    )
    assert ran.error == "ValueError: outer"
    assert ran.blocks == []


def test_an_async_cell_is_explained(guarded):
    ran = guarded.run("import asyncio\nawait asyncio.sleep(0)\nbytearray(2 << 30)")
    assert plain(ran).startswith("Outlive refused 2.0 GiB at cell [1] line 3: ")


def test_a_script_that_a_cell_runs_is_named(guarded, lab):
    (lab.folder / "script.py").write_text("a = 1\nbytearray(2 << 30)\n")
    ran = guarded.run("%run script.py")
    assert plain(ran).startswith("Outlive refused 2.0 GiB at script.py:2 in <module>: ")


def test_an_error_of_a_thread_is_left_alone(guarded):
    ran = guarded.run(
        "import threading\n"
        "thread = threading.Thread(target=bytearray, args=(2 << 30,))\n"
        "thread.start(); thread.join()"
    )
    assert ran.status == "ok"
    assert guarded.value("1 + 1") == "2"


HOSTILE = """
class Hostile:
    def _fail(self, *arguments):
        raise RuntimeError("never ask")
    __sizeof__ = __len__ = __repr__ = __str__ = __iter__ = __hash__ = __eq__ = __bool__ = _fail
    __getattr__ = __getattribute__ = _fail
    __class__ = property(_fail)
class Meta(type):
    def _fail(self, *arguments):
        raise RuntimeError("never ask")
    __hash__ = __eq__ = __instancecheck__ = __subclasscheck__ = __getattribute__ = _fail
class OfMeta(metaclass=Meta):
    pass
class Liar(list):
    def __iter__(self):
        raise RuntimeError("never ask")
    __len__ = __sizeof__ = __iter__
hostile, of_meta = Hostile(), object.__new__(OfMeta)
inside = [Hostile(), {"a": Hostile()}]
liar = Liar([bytearray(30 << 20)])
cyclic = []
cyclic.append(cyclic)
cyclic.append({"me": cyclic, "data": bytearray(20 << 20)})
million = list(range(10**6))
same = [bytearray(10 << 20)] * 10**6
closed = memoryview(b"x" * 1000)
closed.release()
def generate():
    held = bytearray(5 << 20)
    yield held
generator = generate()
next(generator)
"""


def test_hostile_objects_do_no_harm(guarded):
    made = guarded.run(HOSTILE)
    assert made.status == "ok", made.traceback
    ran = guarded.run("bytearray(2 << 30)")
    text = plain(ran)
    assert " 30 MiB  liar " in text
    assert " 20 MiB  cyclic " in text
    # The pointers of a million, and the one object once.
    assert " 18 MiB  same " in text
    assert "~34 MiB  million " in text
    assert guarded.value("len(million)") == "1000000"


def test_an_interrupt_in_the_block_leaves_the_traceback(guarded):
    guarded.run(
        "from outlive.notebook import refusal\n"
        "def interrupted(error):\n    raise KeyboardInterrupt\n"
        "refusal.of_error = interrupted"
    )
    ran = guarded.run("bytearray(2 << 30)")
    assert ran.blocks == []
    assert ran.error.startswith("MemoryError")


def test_loading_twice_is_harmless_and_unloading_leaves_no_trace(guarded):
    guarded.run("%unload_ext outlive")
    before = (
        "ip = get_ipython()\n"
        "def seen():\n"
        "    return (dict(vars(ip.compile)), '_showtraceback' in vars(ip),\n"
        "            {name: list(found) for name, found in ip.events.callbacks.items()},\n"
        "            {kind: sorted(found) for kind, found in ip.magics_manager.magics.items()})\n"
        "clean = seen()"
    )
    assert guarded.run(before).status == "ok"
    assert guarded.run("bytearray(2 << 30)").blocks == []
    guarded.run("%load_ext outlive\n%load_ext outlive\nimport outlive")
    guarded.run("outlive.load_ipython_extension(ip)")
    assert len(guarded.run("bytearray(2 << 30)").blocks) == 1
    assert guarded.value("seen() == clean") == "False"
    guarded.run("%unload_ext outlive\noutlive.unload_ipython_extension(ip)")
    assert guarded.value("seen() == clean") == "True"
    assert guarded.run("bytearray(2 << 30)").blocks == []
    guarded.run("%load_ext outlive")
    assert len(guarded.run("bytearray(2 << 30)").blocks) == 1


def test_what_another_one_wrapped_stays_wrapped(guarded):
    guarded.run(
        "ip = get_ipython()\nours = ip._showtraceback\ncalls = []\n"
        "ip._showtraceback = lambda *words: (calls.append(1), ours(*words))"
    )
    guarded.run("%unload_ext outlive")
    ran = guarded.run("bytearray(2 << 30)")
    assert (ran.blocks, ran.error[:11]) == ([], "MemoryError")
    assert guarded.value("calls") == "[1]"


def test_a_plain_kernel_is_guarded_when_the_extension_is_loaded(lab):
    with kernel(lab, extension=False) as started:
        ran = started.run("%load_ext outlive")
        assert (ran.status, ran.text) == ("ok", "")
        assert started.value("__import__('outlive')._attach.is_attached()") == "True"
        ran = started.run("bytearray(1 << 50)")
        assert plain(ran).startswith("Outlive refused 1.0 PiB at cell [3] line 1: ")


def test_where_the_guard_cannot_come_in_one_line_says_so(lab):
    with kernel(lab, extension=False) as started:
        ran = started.run(
            "import outlive._attach\n"
            "def attach():\n    raise outlive.NotGuarded('this is a test')\n"
            "outlive._attach.attach = attach\n"
            "get_ipython().extension_manager.load_extension('outlive')"
        )
        assert ran.text == "Outlive does not guard this process: this is a test\n"
        assert "not guarded" in started.run("%outlive").text
        assert started.run("raise MemoryError").blocks == []


def test_in_a_terminal_the_block_is_plain_text(lab):
    words = ["--simple-prompt", "--no-banner", "--no-confirm-exit", "--colors=NoColor"]
    ended = lab.supervised(
        sys.executable,
        "-m",
        "IPython",
        *words,
        "--InteractiveShellApp.extensions=outlive",
        flags=["--limit=512MiB"],
        env={"IPYTHONDIR": str(lab.folder / "ipython")},
        input=b"kept = bytearray(100 << 20)\nbytearray(2 << 30)\n%outlive\nlen(kept)\n",
    )
    said = ended.stdout.decode()
    assert said.index("Outlive refused 2.0 GiB at cell [2] line 1: ") < said.index("Traceback")
    assert "held by 100 MiB  kept" in said
    assert " in use, " in said
    assert "104857600" in said
    assert "<div" not in said


def test_a_notebook_that_is_run_by_nbclient_carries_the_block(lab):
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    notebook = nbformat.v4.new_notebook()
    notebook.cells = [
        nbformat.v4.new_code_cell("%load_ext outlive\nkept = bytearray(100 << 20)"),
        nbformat.v4.new_code_cell("bytearray(1 << 50)"),
        nbformat.v4.new_code_cell("len(kept)"),
    ]
    environment = {**lab.plain_environment(), "IPYTHONDIR": str(lab.folder / "ipython")}
    nbclient.NotebookClient(notebook, allow_errors=True, timeout=60).execute(
        cwd=str(lab.folder), env=environment
    )
    block, error = notebook.cells[1].outputs
    assert (block.output_type, error.output_type) == ("display_data", "error")
    assert block.data["text/plain"].startswith("Outlive refused 1.0 PiB at cell [2] line 1: ")
    assert notebook.cells[2].outputs[0].data["text/plain"] == str(100 * MIB)


def test_a_timed_cell_is_named_by_its_own_line(guarded):
    ran = guarded.run("%%time\nx = 1\nbytearray(2 << 30)")
    first, code, *_ = plain(ran).splitlines()
    assert first.startswith("Outlive refused 2.0 GiB at cell [1] line 3: ")
    assert code == "    bytearray(2 << 30)"


def test_a_folder_that_cannot_be_written_stops_nothing(guarded):
    guarded.run("import os\nos.environ['OUTLIVE_RUN_DIR'] = '/proc/self'")
    guarded.run("%unload_ext outlive\n%load_ext outlive")
    assert plain(guarded.run("bytearray(2 << 30)")).startswith("Outlive refused")
