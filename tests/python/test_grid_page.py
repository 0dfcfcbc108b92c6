"""What a person sees on the page of a grid: real Chromium, from a file and from a server."""

import io
import json
import re
from contextlib import contextmanager

import pytest

from support import jupyterlab
from support.browser import artifacts, browser
from support.grid_folder import CELL, KINDS, Cell, GridFolder, copy_page, write_call
from support.static_server import LiveFiles, served

PATIENCE_MS = 20_000
SIZE = {"width": 1280, "height": 800}
COLUMNS = 20
BROKEN = {41: "JPEG data ends after 3.2 KiB", 137: "No known format", 222: "Empty file"}
HOSTILE = {
    0: "<img src=x onerror=window.pwned=1>.jpg",
    7: "a\nb\tc\u202egpj.exe",
    8: "</script><script>window.pwned=1</script>.jpg",
    9: 'it\'s "quoted" & 100%.jpg',
    222: "javascript:window.pwned=1//<b>.jpg",
}
VIEWER = "outlivePage.viewer"
HEADING = "document.querySelector('#list h2').textContent"
READY = f"{VIEWER}?.level > 0"
SMOOTH = "document.querySelector('#sheet canvas').getContext('2d').imageSmoothingEnabled"
# Whether something is drawn over a point of the sheet.
HAS_MARK = """(([x, y]) => {
    const canvas = document.getElementById('marks');
    const box = canvas.getBoundingClientRect();
    const data = canvas.getContext('2d').getImageData(x - box.left, y - box.top, 1, 1).data;
    return data[3] > 0;
})"""


@pytest.fixture(scope="module", autouse=True)
def everything_is_here():
    """What is missing and could be had is a fault; what cannot be had here is said."""
    missing = [name for name in ("playwright", "PIL") if not jupyterlab.has(name)]
    missing += [] if jupyterlab.chromium() else ["chromium"]
    if missing:
        assert not jupyterlab.may_install(), f"{missing}: run `cargo xtask test`"
        pytest.skip(f"not here: {missing}")


@pytest.fixture(scope="module")
def chromium():
    with browser() as started:
        yield started


def name_of(index):
    return HOSTILE.get(index, f"{KINDS[index % len(KINDS)]}/picture-{index:03}.jpg")


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """300 pictures, of which three are broken."""
    cells = [
        Cell(name_of(index), (240, 180), f"Number {index}", BROKEN.get(index))
        for index in range(300)
    ]
    return GridFolder(tmp_path_factory.mktemp("published"), cells, COLUMNS).publish()


@pytest.fixture(scope="module", params=["file", "server"])
def address(request, published):
    """Where the folder with the grid and its images begins."""
    if request.param == "file":
        yield published.root.as_uri()
        return
    with served(published.root) as started:
        yield started


class Shown:
    """A page with a grid, and all that it asked for and complained about."""

    def __init__(self, page, address):
        self.page = page
        self.address = address
        self.asked = []
        self.complaints = []
        page.set_default_timeout(PATIENCE_MS)
        page.on("request", lambda request: self.asked.append(request.url))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", self.note)

    def note(self, message):
        if message.type == "error":
            self.complaints.append(message.text)

    def text(self, selector):
        return self.page.locator(selector).inner_text()

    def until(self, expression):
        self.page.wait_for_function(expression)

    def middle(self, index):
        """Where a cell's middle is on the screen, once the view rests."""
        place = f"""(() => {{ const view = {VIEWER}.view();
            const box = document.getElementById('sheet').getBoundingClientRect();
            const side = {CELL + 2} * view.scale;
            return [box.left + view.left + ({index % COLUMNS} + 0.5) * side,
                    box.top + view.top + ({index // COLUMNS} + 0.5) * side, side]; }})()"""
        self.until(
            f"(now => {{ const same = window.before === now; window.before = now; return same; }})"
            f"(JSON.stringify({place}))"
        )
        return self.page.evaluate(place)

    def wait_until_within(self, index):
        """Waits until a cell is on the screen, and large enough to see."""
        self.until(
            f"""(view => {{
                const side = {CELL + 2} * view.scale;
                const x = view.left + ({index % COLUMNS} + 0.5) * side;
                const y = view.top + ({index // COLUMNS} + 0.5) * side;
                return side > 60 && x > 0 && x < view.width && y > 0 && y < view.height;
            }})({VIEWER}.view())"""
        )

    def click(self, index):
        x, y, _ = self.middle(index)
        self.page.mouse.click(x, y)

    def search(self, words):
        self.page.keyboard.press("/")
        self.page.keyboard.type(words)

    def picture(self, name):
        self.page.screenshot(path=str(artifacts() / f"grid-{name}.png"))


@contextmanager
def opened(chromium, address, tail="", ready=READY, policy=False, **options):
    """The page at an address; it may not complain.

    Playwright waits by evaluating text, which the page's own policy forbids; so the policy is off
    unless the test is about it.
    """
    options = {"viewport": SIZE, "reduced_motion": "reduce", "bypass_csp": not policy, **options}
    page = chromium.new_page(**options)
    shown = Shown(page, address)
    try:
        page.goto(f"{address}/grid/index.html{tail}")
        if ready and not policy:
            shown.until(ready)
        yield shown
        assert not shown.complaints
    except BaseException:
        shown.picture("failure")
        raise
    finally:
        page.close()


def test_the_header_counts_and_the_whole_sheet_is_in_view(chromium, address):
    with opened(chromium, address) as shown:
        assert shown.text("h1") == "drawings: 300 images, 20 × 15"
        assert shown.text("#broken") == "3 broken"
        assert shown.page.title() == "drawings"
        assert shown.page.locator("#unfinished").is_hidden()
        for corner in (0, 299):
            x, y, _ = shown.middle(corner)
            assert 0 < x < SIZE["width"]
            assert 0 < y < SIZE["height"]
        shown.picture("light")


def test_zooming_in_loads_a_finer_level_and_has_an_end(chromium, address):
    with opened(chromium, address) as shown:
        # A coarser level stands in until the one that fits is there.
        before = 11
        shown.until(f"{VIEWER}.level === {before}")
        asked = len(shown.asked)
        shown.page.mouse.move(640, 400)
        for _ in range(40):
            shown.page.keyboard.press("+")
        shown.until(f"{VIEWER}.level > {before}")
        assert any("grid_files/12/" in url for url in shown.asked[asked:])
        shown.until(f"Math.abs({VIEWER}.view().scale - 4) < 0.01")
        shown.until(f"!{SMOOTH}")
        shown.page.keyboard.press("0")
        shown.until(f"{VIEWER}.level === {before} && {SMOOTH}")


def test_a_click_shows_name_size_caption_place_and_the_full_image(chromium, address, published):
    with opened(chromium, address) as shown:
        shown.click(127)
        details = shown.page.locator("#details")
        details.get_by_text("picture-127.jpg").wait_for()
        shown.until("document.querySelector('#details img')?.naturalWidth === 240")
        size = (published.images / "127.jpg").stat().st_size
        told = details.inner_text()
        assert "flower/picture-127.jpg" in told
        assert "Number 127" in told
        assert "240 × 180 pixels" in told
        assert f"{size / 1024:.1f} KiB" in told
        assert "row 7, column 8" in told
        link = details.get_by_role("link", name="Open file").get_attribute("href")
        assert link == f"{address}/images/127.jpg"
        shown.until("location.hash === '#cell=127'")
        shown.picture("details")


def test_the_pointer_names_the_cell_below_it(chromium, address):
    with opened(chromium, address) as shown:
        x, y, _ = shown.middle(41)
        shown.page.mouse.move(x, y)
        shown.page.locator("#status", has_text="picture-041.jpg").wait_for()
        assert BROKEN[41] in shown.text("#status")
        x, y, side = shown.middle(41)
        shown.until(f"{HAS_MARK}([{x - side / 2}, {y}])")
        assert not shown.page.evaluate(f"{HAS_MARK}([{x}, {y}])")


def test_copy_path_gives_the_name_as_it_is(chromium, address):
    with opened(chromium, address, "#cell=7") as shown:
        shown.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        shown.page.get_by_role("button", name="Copy path").click()
        shown.page.get_by_role("button", name="Copied").wait_for()
        assert shown.page.evaluate("navigator.clipboard.readText()") == HOSTILE[7]


def test_search_finds_by_all_words_and_flies_to_a_match(chromium, address):
    with opened(chromium, address) as shown:
        shown.search("PLANET 1")
        expected = [
            index
            for index in range(300)
            if all(word in f"{name_of(index)}\nNumber {index}".lower() for word in ("planet", "1"))
        ]
        shown.page.locator("#list h2", has_text=f"{len(expected)} matches").wait_for()
        rows = shown.page.locator("#list li button")
        assert rows.count() == len(expected)
        listed = [int(row.get_attribute("data-cell")) for row in rows.all()]
        assert listed == expected
        shown.picture("search")
        for index in (*expected[1:4], expected[1] + 1):
            x, y, _ = shown.middle(index)
            assert shown.page.evaluate(f"{HAS_MARK}([{x}, {y}])") == (index not in expected)
        shown.page.keyboard.press("ArrowDown")
        shown.page.keyboard.press("ArrowDown")
        shown.page.keyboard.press("Enter")
        shown.page.locator("#details", has_text=name_of(expected[1])).wait_for()
        shown.wait_until_within(expected[1])
        shown.page.locator("#sheet .openseadragon-canvas").focus()
        shown.page.keyboard.press("n")
        shown.page.locator("#details", has_text=name_of(expected[2])).wait_for()
        shown.page.keyboard.press("Escape")
        shown.page.keyboard.press("Escape")
        assert shown.page.locator("#list").is_hidden()
        shown.search("there is none")
        shown.page.locator("#list h2", has_text="No match").wait_for()


def test_a_search_veils_what_is_no_match_up_to_the_edges(chromium, published, tmp_path):
    # The last row is not full; what is empty is no match, and must not shine like one.
    folder = with_grid(published, tmp_path, {"cells": 290})
    with opened(chromium, folder.as_uri()) as shown:
        shown.search("there is none")
        shown.page.locator("#list h2", has_text="No match").wait_for()
        for index in (0, 289, 290, 299):
            x, y, side = shown.middle(index)
            assert shown.page.evaluate(f"{HAS_MARK}([{x}, {y}])"), index
        assert shown.page.evaluate(f"{HAS_MARK}([{x + side / 2}, {y + side / 2}])")


def test_broken_images_are_listed_with_their_reasons(chromium, address):
    with opened(chromium, address, color_scheme="dark") as shown:
        shown.page.click("#broken")
        rows = shown.page.locator("#list li button")
        shown.page.locator("#list h2", has_text="3 broken").wait_for()
        assert [int(row.get_attribute("data-cell")) for row in rows.all()] == sorted(BROKEN)
        rows.nth(1).click()
        shown.page.locator("#details .problem", has_text=BROKEN[137]).wait_for()
        assert shown.page.locator("#details img").count() == 0
        shown.wait_until_within(137)
        shown.picture("dark")


def test_an_address_with_a_cell_shows_it(chromium, address):
    with opened(chromium, address, "#cell=250") as shown:
        shown.page.locator("#details", has_text=name_of(250)).wait_for()
        shown.wait_until_within(250)
        shown.page.evaluate("location.hash = '#cell=3'")
        shown.page.locator("#details", has_text=name_of(3)).wait_for()
        shown.wait_until_within(3)


@pytest.mark.parametrize("tail", ["#cell=300", "#cell=-1", "#cell=1e9", "#cell=", "#<b>"])
def test_an_address_without_such_a_cell_shows_the_sheet(chromium, address, tail):
    with opened(chromium, address, tail) as shown:
        assert shown.page.locator("#details").is_hidden()


def test_keys_move_open_and_close(chromium, address):
    with opened(chromium, address) as shown:
        press = shown.page.keyboard.press
        press("ArrowRight")
        shown.until("location.hash === '#cell=0'")
        for key, expected in [
            ("ArrowRight", 1),
            ("ArrowDown", 21),
            ("ArrowLeft", 20),
            ("ArrowLeft", 19),
            ("ArrowUp", 19),
            ("End", 299),
            ("ArrowRight", 299),
            ("ArrowDown", 299),
            ("PageUp", 99),
            ("Home", 0),
        ]:
            press(key)
            shown.until(f"location.hash === '#cell={expected}'")
        assert shown.page.locator("#details").is_hidden()
        press("ArrowRight")
        press("Enter")
        shown.page.locator("#details", has_text=name_of(1)).wait_for()
        press("ArrowDown")
        shown.page.locator("#details", has_text=name_of(21)).wait_for()
        press("Escape")
        assert shown.page.locator("#details").is_hidden()
        press("Escape")
        shown.until("location.hash === ''")
        press("?")
        assert shown.page.locator("#keys").is_visible()
        press("Escape")
        assert shown.page.locator("#keys").is_hidden()


def test_every_control_can_be_reached_by_tab(chromium, address):
    with opened(chromium, address, "#cell=3") as shown:
        shown.page.get_by_role("button", name="Copy path").wait_for()
        reached = set()
        for _ in range(20):
            shown.page.keyboard.press("Tab")
            reached.add(
                shown.page.evaluate(
                    "document.activeElement.id || document.activeElement.textContent"
                    " || document.activeElement.ariaLabel"
                )
            )
        wanted = {"broken", "query", "help", "zoom-in", "zoom-out", "home", "Open file"}
        assert wanted | {"Copy path", "Close", "Next", "Previous"} <= reached


def test_names_are_text_and_what_cannot_be_seen_is_shown(chromium, address):
    with opened(chromium, address) as shown:
        visible = {**HOSTILE, 7: "a[U+000A]b[U+0009]c[U+202E]gpj.exe"}
        for index, name in visible.items():
            shown.page.evaluate(f"location.hash = '#cell={index}'")
            shown.page.locator("#details h3", has_text=re.compile(re.escape(name))).wait_for()
            assert shown.text("#details h3") == name
        shown.search("pwned")
        shown.page.locator("#list h2", has_text="3 matches").wait_for()
        # Rows that are not drawn yet have text, but no inner text.
        assert HOSTILE[8] in shown.page.locator("#list").text_content()
        assert shown.page.locator("#list img, #list script, #list b").count() == 0
        shown.page.click("#broken")
        shown.page.locator("#list", has_text=HOSTILE[222]).wait_for()
        assert shown.page.evaluate("window.pwned") is None


def test_nothing_but_the_folder_and_its_images_is_asked_for(chromium, address):
    # With the page's own policy, which has to let everything through that the page needs.
    with opened(chromium, address, "#cell=5", policy=True) as shown:
        shown.page.locator("#details img:not(.coming ~ *)").wait_for()
        shown.page.locator("#details", has_text=name_of(5)).wait_for()
        shown.page.click("#broken")
        shown.page.locator("#list h2", has_text="3 broken").wait_for()
        shown.page.fill("#query", "leaf")
        shown.page.locator("#list h2", has_text="matches").wait_for()
        outside = [url for url in shown.asked if not url.startswith((f"{address}/grid/", "data:"))]
        assert outside == [f"{address}/images/5.jpg"]
        assert any("/grid_files/" in url for url in shown.asked)


def test_a_full_image_that_was_moved_is_said_and_the_small_one_stays(chromium, published, tmp_path):
    folder = with_grid(published, tmp_path, {})
    with opened(chromium, folder.as_uri(), "#cell=5") as shown:
        shown.page.get_by_text("The full image cannot be shown").wait_for()
        assert shown.page.locator("#details .picture .thumbnail").is_visible()
        assert len(shown.complaints) == 1
        assert "ERR_FILE_NOT_FOUND" in shown.complaints.pop()


def with_grid(published, folder, changes, **files):
    """A copy of the page and the pyramid, with other data and without the images."""
    grid = json.loads(re.search(r"\((.*)\)", (published.folder / "grid.js").read_text())[1])
    copied = folder / "grid"
    copied.mkdir()
    copy_page(copied)
    for name in ("grid_files", "cells", "broken.js"):
        if name not in files:
            (copied / name).symlink_to(published.folder / name)
    write_call(copied / "grid.js", "outliveGrid", {**grid, **changes})
    return folder


def test_a_grid_that_is_not_finished_says_so(chromium, published, tmp_path):
    folder = with_grid(published, tmp_path, {"complete": False, "title": "<b>x</b>\n"})
    with opened(chromium, folder.as_uri()) as shown:
        assert "run the same command again to go on" in shown.text("#unfinished")
        assert shown.text("#title") == "<b>x</b>[U+000A]:"


@pytest.mark.parametrize(
    ("changes", "said"),
    [({"cells": 0}, "holds no images"), ({"version": 2}, "format 2, this page shows format 1")],
)
def test_a_grid_that_cannot_be_shown_is_one_sentence(chromium, published, tmp_path, changes, said):
    folder = with_grid(published, tmp_path, changes)
    with opened(chromium, folder.as_uri(), ready=None) as shown:
        shown.page.locator("#message", has_text=said).wait_for()
        assert shown.page.locator("#page").is_hidden()


def test_a_folder_without_data_is_one_sentence(chromium, published, tmp_path):
    folder = with_grid(published, tmp_path, {})
    (folder / "grid" / "grid.js").unlink()
    with opened(chromium, folder.as_uri(), ready=None) as shown:
        shown.page.locator("#message", has_text="grid.js is missing").wait_for()
        assert len(shown.complaints) == 1
        assert "ERR_FILE_NOT_FOUND" in shown.complaints.pop()


def test_without_javascript_there_is_a_sentence(chromium, address):
    with opened(chromium, address, ready=None, java_script_enabled=False) as shown:
        assert "JavaScript, which is turned off" in shown.text("body")


def test_more_broken_images_than_the_list_has_are_counted(chromium, published, tmp_path):
    folder = with_grid(published, tmp_path, {"broken": 12_345}, **{"broken.js": None})
    cells = [[index % 300, f"{index}.jpg", "Empty file"] for index in range(10_000)]
    listed = {"total": 12_345, "cells": cells}
    write_call(folder / "grid" / "broken.js", "outliveBroken", listed)
    with opened(chromium, folder.as_uri()) as shown:
        assert shown.text("#broken") == "12,345 broken"
        shown.page.click("#broken")
        shown.page.get_by_text("2,345 more are not shown here: all are in broken.tsv").wait_for()
        assert shown.page.locator("#list li").count() == 500
        shown.page.get_by_role("button", name="Show 500 more").click()
        assert shown.page.locator("#list li").count() == 1000


@pytest.fixture
def many(published, tmp_path):
    """30,000 names without a pyramid; one part of them is gone."""
    changes = {
        "cells": 30_000,
        "columns": 173,
        "rows": 174,
        "width": 173 * 130,
        "height": 174 * 130,
    }
    folder = with_grid(published, tmp_path, changes, cells=None)
    (folder / "grid" / "cells").mkdir()
    for number in range(30):
        rows = [[f"{number * 1000 + at}.jpg", 9, 9, 9, None, None, ""] for at in range(1000)]
        if number != 17:
            path = folder / "grid" / "cells" / f"{number}.js"
            write_call(path, "outliveCells", number, rows)
    return folder


def forgive_what_is_gone(shown):
    expected = ("ERR_FILE_NOT_FOUND", "404", "Tile")
    assert all(any(sign in one for sign in expected) for one in shown.complaints)
    shown.complaints.clear()


def test_many_names_are_searched_part_by_part_and_not_kept(chromium, many):
    with opened(chromium, many.as_uri(), ready=VIEWER) as shown:
        shown.search(".jpg")
        shown.page.locator("#list h2", has_text="29,000 matches").wait_for()
        assert shown.page.locator("#list li").count() == 500
        note = shown.text("#list .note")
        assert note == "The first 500 are listed, 1 part of the names could not be read"
        assert shown.page.locator("script[src*=cells]").count() == 0
        forgive_what_is_gone(shown)


def test_names_are_read_once_and_then_every_search_is_at_hand(chromium, many):
    parts = "performance.getEntriesByType('resource').filter(one => /cells/.test(one.name)).length"
    with served(many) as address, opened(chromium, address, ready=VIEWER) as shown:
        assert shown.page.evaluate(parts) == 0
        # They are read before a word is typed.
        shown.page.focus("#query")
        shown.until(f"{parts} === 30")
        for query, asked in [("123", 31), ("7711", 32)]:
            # Part 17 is gone, and so is asked for again.
            expected = [at for at in range(30_000) if query in str(at) and at // 1000 != 17]
            shown.page.fill("#query", query)
            shown.page.locator("#list h2", has_text=f"{len(expected)} matches").wait_for()
            shown.page.locator("#list .note", has_text="1 part of the names").wait_for()
            assert shown.page.evaluate(parts) == asked
            rows = shown.page.locator("#list li button").all()
            assert [int(row.get_attribute("data-cell")) for row in rows] == expected
        forgive_what_is_gone(shown)


def test_enter_shows_the_first_match_however_fast_it_is_pressed(chromium, address):
    with opened(chromium, address) as shown:
        shown.search("planet 1")
        shown.page.keyboard.press("Enter")
        first = next(at for at in range(300) if "planet" in name_of(at) and "1" in f"{at:03}")
        shown.page.locator("#details", has_text=name_of(first)).wait_for()
        assert shown.page.evaluate("document.activeElement.dataset.cell") == str(first)
        shown.page.keyboard.press("n")
        shown.until(f"location.hash.startsWith('#cell=') && location.hash !== '#cell={first}'")
        shown.page.keyboard.press("Shift+N")
        shown.until(f"location.hash === '#cell={first}'")


def test_typing_again_ends_the_search_before(chromium, many):
    # From a server, since requests for files are not held back.
    with served(many) as address, opened(chromium, address, ready=VIEWER) as shown:
        held = []
        shown.page.route("**/cells/2.js", lambda route: held.append(route))
        shown.search("77")
        shown.page.locator("#list .note", has_text="Searched 2,000 of 30,000").wait_for()
        before = shown.text("#list h2")
        # The second search gets as far as the first, and both wait for the same part.
        shown.page.fill("#query", "123")
        shown.until(f"/matches/.test({HEADING}) && {HEADING} !== '{before}'")
        for route in held:
            route.continue_()
        expected = [at for at in range(30_000) if "123" in str(at) and at // 1000 != 17]
        shown.page.locator("#list h2", has_text=f"{len(expected)} matches").wait_for()
        rows = shown.page.locator("#list li button").all()
        assert [int(row.get_attribute("data-cell")) for row in rows] == expected
        forgive_what_is_gone(shown)


# Every colour that the middle of the sheet had, from frame to frame.
WATCH = """window.colours = new Set();
    (function look() {
        const canvas = document.querySelector('#sheet canvas');
        const at = [canvas.width / 2, canvas.height / 2];
        window.colours.add([...canvas.getContext('2d').getImageData(...at, 1, 1).data].join());
        requestAnimationFrame(look);
    })();"""
RED, BLUE = (255, 0, 0), (0, 0, 255)


def tile_of(colour):
    """A PNG of one colour."""
    from PIL import Image

    file = io.BytesIO()
    Image.new("RGB", (520, 520), colour).save(file, "PNG")
    return file.getvalue()


def test_a_live_grid_says_how_far_it_is_and_its_tiles_get_better(chromium, published, tmp_path):
    folder = with_grid(published, tmp_path, {"live": True, "complete": False})

    class Growing(LiveFiles):
        progress = {"known": 40, "cells": 300, "generation": 1}
        tiles = {7: tile_of(RED), 8: tile_of(BLUE)}

    with served(folder, Growing) as address, opened(chromium, address) as shown:
        shown.page.locator("#live", has_text="Known 40 of 300").wait_for()
        assert shown.page.locator("#unfinished").is_hidden()
        columns = shown.page.evaluate(f"{VIEWER}.view().width / {VIEWER}.view().scale / 130")
        assert 11.5 < columns < 12.5
        # All of the first row, though a bar takes room above it.
        corner = f"[{VIEWER}.view().left, {VIEWER}.view().top].map(Math.round).join()"
        assert shown.page.evaluate(corner) == "0,0"
        shown.picture("live")
        shown.page.evaluate(WATCH)
        Growing.progress = {"known": 200, "cells": 300, "generation": 7}
        shown.page.locator("#live", has_text="Known 200 of 300").wait_for()
        shown.until("colours.has('255,0,0,255')")
        Growing.progress = {"known": 300, "cells": 300, "generation": 8}
        shown.page.locator("#live").wait_for(state="hidden")
        shown.until("colours.has('0,0,255,255')")
        seen = shown.page.evaluate("[...colours]")
        # The old tile, the better one, the best one; never a hole.
        assert len(seen) == 3, seen


def test_a_live_grid_whose_server_ended_says_so(chromium, published, tmp_path):
    folder = with_grid(published, tmp_path, {"live": True})
    with served(folder) as address, opened(chromium, address) as shown:
        shown.page.locator("#live", has_text="The server does not answer").wait_for()
        assert shown.page.locator("#live progress").is_hidden()
        assert len(shown.complaints) >= 3
        assert all("404" in one for one in shown.complaints)
        shown.complaints.clear()


@pytest.mark.parametrize("size", [(844, 390), (320, 568)])
def test_in_a_small_window_nothing_covers_the_controls(chromium, address, size):
    small = dict(zip(("width", "height"), size))
    with opened(chromium, address, "#cell=25", viewport=small) as shown:
        shown.page.locator("#details", has_text=name_of(25)).wait_for()
        for button in shown.page.locator(".controls button").all():
            # Whatever covers the middle of a button takes the click.
            button.click(trial=True)
        shown.page.fill("#query", "leaf")
        shown.page.locator("#list h2", has_text="50 matches").wait_for(state="attached")
        assert shown.page.locator("#list").is_hidden()
        assert shown.page.locator("#stage").bounding_box()["height"] > 120
        assert shown.page.locator("#stage").bounding_box()["width"] > 300


def test_on_paper_pictures_keep_their_shape(chromium, address):
    with opened(chromium, address) as shown:
        shown.page.emulate_media(media="print")
        fit = "getComputedStyle(document.querySelector('#sheet canvas')).objectFit"
        assert shown.page.evaluate(fit) == "contain"
        assert shown.page.locator(".controls").is_hidden()
        shown.picture("paper")


def test_on_a_phone_the_page_fits(chromium, address):
    phone = {"width": 390, "height": 844}
    with opened(chromium, address, "#cell=25", viewport=phone, has_touch=True) as shown:
        shown.page.locator("#details", has_text=name_of(25)).wait_for()
        assert shown.page.evaluate("document.documentElement.scrollWidth") == 390
        shown.wait_until_within(25)
        shown.picture("phone")
        shown.page.get_by_role("button", name="Close").click()
        shown.page.fill("#query", "leaf")
        shown.page.locator("#list h2", has_text="50 matches").wait_for()
        assert shown.page.locator("#sheet").bounding_box()["height"] > 200
