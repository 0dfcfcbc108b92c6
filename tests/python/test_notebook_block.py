"""The block that a notebook shows: text of the program is never live HTML."""

import itertools
from html.parser import HTMLParser

import pytest

from outlive.notebook.block import Block, Row
from support.kernels import kernel

TEXTS = [
    "<img src=x onerror=alert(1)>",
    "</td></table></div><script>alert(1)</script>",
    "\" onmouseover=\"alert(1)' onclick='alert(1)",
    "`</code><svg onload=alert(1)>`",
    "<!-- <a href='javascript:alert(1)'>",
    "&lt;img src=x onerror=alert(1)&gt;",
    "]]><iframe srcdoc='<script>1</script>'>",
    "\u202e<b>\x1b[31m\x00\x08</style><style>*{}</style>",
    "{{constructor.constructor('alert(1)')()}} ${1}",
]
# Whole, as the block writes it: nothing else may arise.
ELEMENTS = {
    "div", "pre", "code", "table", "tbody", "tr", "td", "ul", "li", "details", "summary",
}  # fmt: skip
ATTRIBUTES = {"class", "style"}


class Seen(HTMLParser):
    """Elements, attributes and text of a page, as a browser takes them."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.elements, self.values, self.text, self.other = [], [], "", []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, tuple(name for name, _ in attributes)))
        self.values += [value for _, value in attributes]

    def handle_data(self, data):
        self.text += data

    def handle_comment(self, data):
        self.other.append(data)

    handle_decl = handle_pi = unknown_decl = handle_comment


def made_of(text):
    """A block with a text in every place."""
    return Block(
        text, text, text, [Row(text, text, text, text)] * 2, [text, f"`{text}`"], [(text, text)]
    )


@pytest.mark.parametrize("text", TEXTS)
def test_text_is_never_an_element_or_an_attribute(text):
    page, plain = Seen(made_of(text).html()), Seen(made_of("text").html())
    assert {tag for tag, _ in page.elements} <= ELEMENTS
    assert {name for _, names in page.elements for name in names} <= ATTRIBUTES
    assert page.other == []
    # Backticks make code of what stands between them, and nothing else differs.
    without_code = [one for one in page.elements if one[0] != "code"]
    assert without_code == [one for one in plain.elements if one[0] != "code"]
    assert set(page.values) == set(plain.values)
    if text.isprintable() and "`" not in text:
        assert page.text.count(text) >= 9


def test_control_characters_do_not_reach_a_terminal():
    text = made_of("\x1b]0;owned\x07\x1b[2J\u202eabc\r").text()
    assert all(one.isprintable() or one == "\n" for one in text)


def test_the_plain_form_is_narrow_and_in_order():
    block = Block(
        "Outlive refused 2.0 GiB at cell [3] line 2: 100 MiB of headroom left",
        "x = make()",
        "budget 1.0 GiB (--limit)",
        [Row("300 MiB", "a", "list of 3"), Row("2.0 MiB", "long_name", "", "b = 1")],
        ["first " * 30, "second"],
        [("headroom", "104,857,600 bytes")],
    )
    lines = block.text().splitlines()
    assert lines[:5] == [
        "Outlive refused 2.0 GiB at cell [3] line 2: 100 MiB of headroom left",
        "    x = make()",
        "  memory  budget 1.0 GiB (--limit)",
        "  held by 300 MiB  a          list of 3",
        "          2.0 MiB  long_name  b = 1",
    ]
    assert lines[-1] == "          second"
    assert all(len(line) <= 100 for line in lines)


def test_a_block_of_nothing_but_a_headline_is_well_formed():
    page = Seen(Block("x").html())
    assert page.elements == [("div", ("class", "style")), ("div", ("class", "style"))]
    assert Block("").text() == ""


@pytest.mark.parametrize("style", ["class", "function", "file", "exception", "source"])
def test_hostile_names_of_a_real_cell_stay_text(lab, style):
    pytest.importorskip("ipykernel")
    evil = "<img src=x onerror=alert(1)>"
    cells = {
        "class": f"kept = type({evil!r}, (list,), {{}})([bytearray(90 << 20)])\nbytearray(2 << 30)",
        "function": f"globals()[{evil!r}] = bytearray(90 << 20)\nbytearray(2 << 30)",
        "file": f"exec(compile('bytearray(2 << 30)', {evil!r}, 'exec'))",
        "exception": "try:\n    bytearray(2 << 30)\nexcept MemoryError:\n"
        f"    raise OSError({evil!r})",
        "source": f"bytearray(2 << 30)  # {evil}",
    }
    with kernel(lab, limit="512MiB") as started:
        ran = started.run(cells[style])
    page = Seen(ran.block["text/html"])
    assert {tag for tag, _ in page.elements} <= ELEMENTS
    assert {name for _, names in page.elements for name in names} <= ATTRIBUTES
    if style in ("class", "function", "source"):
        assert evil in page.text


def test_a_verdict_of_a_hostile_run_stays_text(tmp_path):
    from outlive.notebook import verdict_block

    evil = TEXTS[0]
    place = {"kind": "line", "file": evil, "line": 1, "function": evil, "text": evil}
    holder = {**place, "live_bytes": 1 << 30, "peak_bytes": 1, "exact": True}
    facts = {
        "run": {"id": evil},
        "verdict": {
            "id": "out_of_memory_cgroup",
            "confidence": evil,
            "summary": evil,
            "evidence": [evil],
            "ruled_out": [evil],
        },
        "advice": [evil],
        "memory": {"limit": 1, "peak": 1, "limit_source": evil},
        "growth": {"last_large": {"place": place}},
        "holders": [holder],
        "holders_moment": "end",
    }
    lines = [
        b'{"file": "<img src=x onerror=alert(1)>", "count": "<b>", "source": "<i>"}\n',
        b"{\n", b"[]\n", b"\xff\xfe\n", b'{"file": {}}\n',
    ]  # fmt: skip
    for written in itertools.accumulate(lines):
        (tmp_path / "cells.jsonl").write_bytes(written)
        page = Seen(verdict_block.block(facts, tmp_path).html())
        assert {tag for tag, _ in page.elements} <= ELEMENTS
        assert {name for _, names in page.elements for name in names} <= ATTRIBUTES
        assert "cell [<b>] line 1" in page.text
