"""`%outlive` and `%%outlive` in a real kernel."""

import re

import pytest

from support.kernels import kernel

pytest.importorskip("ipykernel")


@pytest.fixture
def guarded(lab):
    with kernel(lab, limit="512MiB") as started:
        yield started


def test_status_has_use_budget_peak_and_holders(guarded):
    guarded.run("kept = bytearray(100 << 20)")
    first, *holders = guarded.run("%outlive").text.splitlines()
    pattern = r"\d+ MiB of 47\d MiB \(\d+ %\) in use, .*; budget by --limit; peak \d+ MiB resident"
    assert re.fullmatch(pattern, first)
    assert holders[0].split() == ["100", "MiB", "kept", "bytearray"]


def test_free_lists_and_frees_only_what_it_is_told(guarded):
    guarded.run("a = bytearray(50 << 20); b = bytearray(100 << 20); c = bytearray(10 << 20)")
    listed = guarded.run("%outlive free").text.splitlines()
    assert [line.split()[2] for line in listed[:3]] == ["b", "a", "c"]
    assert listed[3] == "hint: `%outlive free b` frees the first"
    assert guarded.value("len(a) + len(b) + len(c) >> 20") == "160"
    freed = guarded.run("%outlive free a b").text
    assert 140 <= int(re.match(r"(\d+) MiB came back\n$", freed)[1]) <= 160
    assert guarded.value("'a' in globals(), 'b' in globals(), len(c) >> 20") == "(False, False, 10)"


def test_free_lets_go_of_what_ipython_kept(guarded):
    guarded.run("import numpy\nkept = numpy.ones(10 << 20)\nkept")
    guarded.run("kept")
    guarded.run("_, __, _1, Out[2]\nNone")
    assert int(re.match(r"\d+", guarded.run("%outlive free kept").text)[0]) >= 75
    # An output that no name refers to is told as what it is.
    guarded.run("numpy.ones(5 << 20)")
    assert re.search(r"40 MiB  Out\[5\]  float64 array", guarded.run("%outlive free").text)
    assert int(re.match(r"\d+", guarded.run("%outlive free Out[5]").text)[0]) >= 35


def test_free_lets_go_of_what_the_last_error_kept(guarded):
    guarded.run("def fail(inner):\n    return 1 / 0")
    guarded.run("kept = bytearray(100 << 20)\nfail(kept)")
    assert int(re.match(r"\d+", guarded.run("%outlive free kept").text)[0]) >= 95


def test_free_says_who_else_refers_to_it(guarded):
    guarded.run("kept = bytearray(50 << 20)\nother = kept")
    text = guarded.run("%outlive free kept").text
    assert "hint: `other` still refers to the same object" in text
    assert guarded.value("len(other) >> 20") == "50"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("%outlive free nothing", "No variable `nothing`; nothing was freed"),
        ("%outlive free a nothing", "No variable `nothing`; nothing was freed"),
        ("%outlive free __builtins__", "No variable `__builtins__`; nothing was freed"),
        ("%outlive frei", "`%outlive frei` is not known"),
        ("%outlive why a b", "`%outlive why a b` is not known"),
        ("%outlive limit=2GiB", "`limit=` is for a cell: `%%outlive limit=2GiB` as its first line"),
        ("%outlive why", "No bad end of this notebook's kernel is known"),
        ("%outlive \"", "`%outlive \"` is not known"),
        ("%%outlive\nx = 1", "`%%outlive` is not known"),
        ("%%outlive limits=3\nx = 1", "`%%outlive limits=3` is not known"),
        ("%%outlive limit=1XB\nx = 1", "Limit `1XB` is not a limit"),
        ("%%outlive limit=1MiB\nx = 1", "Limit `1MiB` is 1.0 MiB, below the "),
    ],
)  # fmt: skip
def test_wrong_words_get_one_clear_line(guarded, words, said):
    guarded.run("a = 1")
    ran = guarded.run(words)
    first, *hint = ran.text.splitlines()
    assert first.removeprefix("UsageError: ").startswith(said)
    assert (ran.status == "error") == first.startswith("UsageError: ")
    assert len(hint) <= 1
    assert all(line.startswith("hint: ") for line in hint)
    assert guarded.value("a, 'x' in globals()") == "(1, False)"


def test_a_cell_runs_under_a_limit_of_its_own(guarded):
    ran = guarded.run("%%outlive limit=300MiB\nx = 1\n\ny = bytearray(400 << 20)")
    assert ran.status == "error"
    text = ran.block["text/plain"]
    assert text.startswith("Outlive refused 400 MiB at cell [1] line 4: ")
    assert "y = bytearray(400 << 20)" in text
    assert "(outlive.guard)" in text
    # Restored, although the cell failed.
    assert guarded.run("z = bytearray(400 << 20)").status == "ok"
    assert guarded.value("x, len(z) >> 20") == "(1, 400)"


def test_a_cell_under_a_limit_shows_its_value_and_keeps_its_names(guarded):
    ran = guarded.run("%%outlive limit=80%\ndef f():\n    return 6 * 7\nf()")
    assert (ran.status, ran.result) == ("ok", "42")
    assert guarded.value("f()") == "42"
    assert guarded.run("%%outlive limit=80%\nf();").result == ""
    assert guarded.run("%%outlive limit=80%\n%pwd\n!echo hello").text == "hello\r\n"
    assert guarded.run("%%outlive limit=80%\nfor i in range(3): print(i)").text == "0\n1\n2\n"


def test_errors_of_a_cell_under_a_limit_are_as_usual(guarded):
    ran = guarded.run("%%outlive limit=80%\n1 / 0")
    assert ran.error == "ZeroDivisionError: division by zero"
    ran = guarded.run("%%outlive limit=80%\n1 +")
    assert ran.error.startswith("SyntaxError")
    ran = guarded.run("%%outlive limit=80%\nimport asyncio\nawait asyncio.sleep(0)")
    assert ran.status == "error"
    assert '`with outlive.guard("2GiB"):` inside the cell' in ran.text
    assert guarded.run("z = bytearray(400 << 20)").status == "ok"


def test_help_is_short(guarded):
    text = guarded.run("%outlive help").text
    assert "%%outlive limit=2GiB" in text
    assert len(text.splitlines()) < 10
