"""Pages that `outlive grid` really made, in real Chromium: from a folder, and from its server."""

import re
import signal
import subprocess
from contextlib import contextmanager

import pytest

from support import jupyterlab, pictures
from support.browser import artifacts, browser
from support.paths import program

COUNT, COLUMNS = 120, 12
SIZE = {"width": 1280, "height": 800}
# Wider than the window, so that there is a finer level to zoom into.
LOOK = ["--columns", str(COLUMNS), "--cell", "256"]
BROKEN = ["half.jpg", "empty.jpg"]
HOSTILE = "<img src=x onerror=window.hacked=1>.jpg"
PATIENCE_MS = 30_000


@pytest.fixture(scope="module", autouse=True)
def everything_is_here():
    """What is missing and could be had is a fault; what cannot be had here is said."""
    missing = [name for name in ("playwright", "PIL") if not jupyterlab.has(name)]
    missing += [] if jupyterlab.chromium() else ["chromium"]
    if missing:
        assert not jupyterlab.may_install(), f"{missing}: run `cargo xtask test`"
        pytest.skip(f"not here: {missing}")


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    """A folder of pictures, some of them broken, one with a name that wants to run."""
    folder = tmp_path_factory.mktemp("real") / "flowers"
    folder.mkdir()
    for number in range(COUNT - 3):
        image = pictures.shape(160 + number, 120)
        (folder / f"flower {number:03}.jpg").write_bytes(pictures.encoded(image, "JPEG"))
    for name in BROKEN:
        (folder / name).write_bytes(pictures.bad()[name])
    (folder / HOSTILE).write_bytes(pictures.good()["plain.jpg"])
    return folder


@contextmanager
def from_folder(images):
    """The address of a page in a folder."""
    page = images.with_name("page")
    command = [program(), "grid", images, "-o", f"{page}/", *LOOK]
    subprocess.run([*command, "--captions", "name", "--quiet"], check=True)
    yield (page / "index.html").as_uri()


@contextmanager
def from_server(images):
    """The address of the same from a server."""
    command = [program(), "grid", images, "--serve", *LOOK]
    with subprocess.Popen(
        [*command, "--captions", "name"], stdout=subprocess.PIPE, text=True
    ) as server:
        try:
            yield re.search(r"http://\S+/", server.stdout.readline())[0]
        finally:
            server.send_signal(signal.SIGINT)
    assert server.returncode == 0


@pytest.fixture(scope="module", params=[from_folder, from_server], ids=["folder", "server"])
def page(request, images):
    """The page, opened; it may not complain, and nothing of it may come from elsewhere."""
    with request.param(images) as address, browser() as chromium:
        shown = chromium.new_page(viewport=SIZE, reduced_motion="reduce", bypass_csp=True)
        shown.set_default_timeout(PATIENCE_MS)
        complaints, asked = [], []
        shown.on("pageerror", lambda error: complaints.append(str(error)))
        shown.on("request", lambda request: asked.append(request.url))
        shown.goto(address)
        shown.wait_for_function("outlivePage.viewer?.level > 0")
        yield shown
        shown.screenshot(path=str(artifacts() / f"grid-{request.param.__name__}.png"))
        assert not complaints
        assert shown.evaluate("window.hacked") is None
        home = address.rsplit("/", 1)[0]
        near = str(images.parent.as_uri()) if address.startswith("file") else home
        assert all(url.startswith((near, "data:", "blob:")) for url in asked), asked


def test_the_page_counts_its_images(page):
    heading = page.locator("h1").inner_text()
    assert "flowers" in heading and f"{COUNT} images" in heading, heading


def test_a_search_shows_the_image_with_its_facts(page):
    page.keyboard.press("/")
    page.keyboard.type("flower 042")
    page.locator("#list li button").first.click()
    details = page.locator("#details")
    details.get_by_text("flower 042.jpg").first.wait_for()
    page.wait_for_function("document.querySelector('#details img')?.naturalWidth === 202")
    assert "202 × 120 pixels" in details.inner_text()


def test_zooming_in_shows_the_pixels_of_the_picture(page):
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    page.keyboard.press("0")
    page.wait_for_function("outlivePage.viewer.level < 12")
    page.mouse.move(640, 400)
    for _ in range(12):
        page.keyboard.press("+")
    page.wait_for_function("outlivePage.viewer.level === 12")


def test_broken_images_are_listed_and_shown(page):
    # A server has looked at all images a moment after its start.
    page.locator("#broken", has_text=f"{len(BROKEN)} broken").click()
    rows = page.locator("#list li button")
    rows.first.wait_for()
    # Not `inner_text`: a row has none before it was drawn.
    listed = " ".join(row.text_content() for row in rows.all())
    assert "half.jpg" in listed and "JPEG is cut off" in listed and "Empty file" in listed
    rows.first.click()
    page.locator("#details", has_text=BROKEN[1]).wait_for()


def test_a_name_that_wants_to_run_is_text(page):
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    page.keyboard.type("onerror")
    page.locator("#list li button").first.click()
    page.locator("#details", has_text="onerror=window.hacked=1").wait_for()
