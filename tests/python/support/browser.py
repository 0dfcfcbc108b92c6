"""A real Chromium that shows a notebook in JupyterLab, and what a person does there.

Every step leaves a picture among the artifacts of the test run: `$OUTLIVE_ARTIFACTS`, or
`target/artifacts`.
"""

from __future__ import annotations

import os
import re
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from support import jupyterlab, paths

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
SIZE = {"width": 1280, "height": 800}
PATIENCE_MS = 30_000
DIALOG = ".jp-Dialog"
NOTIFICATION = ".Toastify__toast"
STATUS = ".outlive-status-button"
EXPLANATION = ".outlive-explanation"
HOLDERS = ".outlive-holders"
# Keys do nothing until JupyterLab has read its settings.
READY = (
    """window.jupyterapp?.commands.keyBindings.some(one => one.command === 'notebook:run-cell')"""
)
# The page draws a kernel at rest before there is one.
IDLE = """(context => context?.isReady && context.session?.kernel?.status === 'idle')(
    window.jupyterapp.shell.currentWidget?.sessionContext)"""
ACTIVE = "number => jupyterapp.shell.currentWidget.content.activeCellIndex === number - 1"
# Animations without an end, such as a blinking cursor, are not waited for.
SETTLED = """Promise.allSettled(document.getAnimations()
    .filter(one => one.effect.getComputedTiming().endTime !== Infinity)
    .map(one => one.finished))"""
DONE = re.compile(r"\[\d+\]")


def artifacts():
    """The folder for pictures."""
    named = os.environ.get("OUTLIVE_ARTIFACTS")
    folder = Path(named) if named else paths.REPOSITORY / "target" / "artifacts"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@contextmanager
def browser():
    """A Chromium without a window."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=jupyterlab.chromium(), args=FLAGS)
        yield chromium
        chromium.close()


@contextmanager
def opened(chromium, server, name, pictures, scheme="light", blocked=None):
    """A page with a notebook whose kernel is ready.

    Args:
        chromium: The browser.
        server: The server.
        name: The notebook's file.
        pictures: How the names of its pictures begin.
        scheme: Whether the system's colours are `light` or `dark`.
        blocked: A pattern of addresses that the page does not get.
    """
    page = chromium.new_page(viewport=SIZE, color_scheme=scheme)
    if blocked:
        page.route(blocked, lambda route: route.abort())
    page.set_default_timeout(PATIENCE_MS)
    notebook = Notebook(page, server, pictures)
    page.on("pageerror", lambda error: notebook.errors.append(str(error)))
    page.on("request", notebook.note)
    try:
        page.goto(server.address(f"lab/tree/{quote(name)}") + "&reset")
        page.wait_for_function(READY)
        notebook.wait_until_idle()
        yield notebook
    except BaseException:
        notebook.picture("failure")
        (artifacts() / f"{pictures}-server.log").write_text(server.log())
        raise
    finally:
        page.close()


@dataclass
class Notebook:
    """A notebook on the page."""

    page: object
    server: object
    pictures: str

    def __post_init__(self):
        self.errors = []
        self.asked = []

    def note(self, request):
        """Notes what the page asks of Outlive's server extension."""
        if "/outlive/kernels/" in request.url:
            self.asked.append(request.url)

    def cell(self, number):
        """A cell, counted from 1."""
        return self.page.locator(".jp-Notebook .jp-Cell").nth(number - 1)

    def start(self, number):
        """Runs a cell, as a person does."""
        self.cell(number).locator(".jp-InputPrompt").click()
        self.page.wait_for_function(ACTIVE, arg=number)
        self.page.keyboard.press("Control+Enter")

    def run(self, number):
        """Runs a cell to its end; gives the text that it put out."""
        from playwright.sync_api import expect

        self.start(number)
        expect(self.cell(number).locator(".jp-InputPrompt")).to_have_text(DONE, timeout=PATIENCE_MS)
        self.wait_until_idle()
        return self.output(number)

    def output(self, number):
        """The text below a cell, as a person sees it."""
        found = self.cell(number).locator(".jp-Cell-outputArea")
        return found.inner_text() if found.count() else ""

    def wait_until_idle(self):
        """Waits until the kernel is at rest."""
        self.page.wait_for_function(IDLE)

    def dismiss_dialog(self):
        """Answers JupyterLab's dialog about the kernel that died; gives its text."""
        dialog = self.page.locator(DIALOG)
        dialog.wait_for()
        text = dialog.inner_text()
        dialog.locator("button.jp-mod-accept").click()
        dialog.wait_for(state="detached")
        return text

    def notification(self):
        """The text of the notification about the kernel."""
        found = self.page.locator(NOTIFICATION)
        found.wait_for()
        return found.inner_text()

    def press(self, label):
        """Presses a button with a label, wherever it is."""
        self.page.get_by_role("button", name=label, exact=True).first.click()

    def status(self):
        """What the status bar says."""
        return self.page.locator(STATUS).inner_text()

    def picture(self, name):
        """Keeps a picture of the page as it is."""
        # A notification slides in; a picture of it halfway says nothing.
        self.page.evaluate(SETTLED)
        self.page.screenshot(path=str(artifacts() / f"{self.pictures}-{name}.png"))
