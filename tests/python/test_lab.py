"""What a person sees in JupyterLab: real server, real kernel, real Chromium, real kills."""

import os
import re
import signal

import pytest

from support import cgroup, jupyterlab
from support.browser import DIALOG, EXPLANATION, HOLDERS, NOTIFICATION, STATUS, browser, opened
from support.cgroup import MIB

LIMIT = "1GiB"
# The server itself takes 150 MiB of it.
OOM_LIMIT = 900 * MIB
KEEP = "kept = 'made before'\nprint(kept)"
HOSTILE = '<img src=x onerror="window.pwned=1">'


@pytest.fixture(scope="module", autouse=True)
def everything_is_here():
    """What is missing and could be had is a fault; what cannot be had here is said."""
    missing = jupyterlab.why_missing()
    if missing:
        assert not jupyterlab.may_install(), f"{missing}: run `cargo xtask test`"
        pytest.skip(missing)


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """An environment in which `outlive setup jupyter` was run."""
    made = jupyterlab.make_environment(tmp_path_factory.mktemp("environment") / "env")
    finished = made.set_up()
    assert finished.returncode == 0, finished.stdout + finished.stderr
    return made


@pytest.fixture(scope="module")
def server(environment, tmp_path_factory):
    """A JupyterLab whose kernels may use 1 GiB."""
    folder = tmp_path_factory.mktemp("server")
    with jupyterlab.server(environment, folder, {"OUTLIVE_LIMIT": LIMIT}) as started:
        yield started


@pytest.fixture(scope="module")
def chromium():
    with browser() as started:
        yield started


def test_the_fatal_cell_fails_with_an_explanation_and_the_kernel_lives(chromium, server):
    make = "images = torch.rand(9000, 3, 64, 64)"
    cells = [
        "import torch\nfrom torchvision.utils import make_grid\n" + KEEP,
        f"{make}\ngrid = make_grid(images, nrow=64, normalize=True)",
        "print(kept, len(images))",
    ]
    server.write_notebook("grid.ipynb", cells)
    with opened(chromium, server, "grid.ipynb", "grid") as notebook:
        assert "made before" in notebook.run(1)
        told = notebook.run(2)
        notebook.picture("refused")
        assert "Outlive" in told
        assert "make_grid" in told
        assert "images" in told
        assert notebook.run(3).split() == ["made", "before", "9000"]
        notebook.picture("lives")
        assert not notebook.errors


def test_a_kernel_killed_for_memory_says_so_with_cell_and_line(chromium, environment, tmp_path):
    version = next(iter(cgroup.versions()), 1)
    with (
        cgroup.group_of(version, OOM_LIMIT) as group,
        jupyterlab.server(environment, tmp_path, {}, enter=group.enter) as server,
    ):
        # The one promise that the guard has to believe: "it will stay mostly empty".
        fatal = "with outlive.sparse():\n    table = numpy.zeros((1 << 20, 256))\ntable[:] = 1"
        server.write_notebook("table.ipynb", ["import numpy, outlive", KEEP, fatal])
        with opened(chromium, server, "table.ipynb", "killed") as notebook:
            notebook.run(1)
            notebook.run(2)
            notebook.start(3)
            told = notebook.notification()
            notebook.page.locator(DIALOG).wait_for()
            notebook.picture("notification")
            assert group.kills() == 1
            assert "out of memory" in told
            assert "cell [3] line 2" in told
            assert "table = numpy.zeros" in told
            notebook.dismiss_dialog()
            notebook.press("Explain")
            explained = notebook.page.locator(EXPLANATION)
            notebook.picture("explanation")
            assert "oom_kill 0 -> 1" in explained.inner_text()
            assert "cell [3] line 2" in explained.inner_text()
            explained.get_by_role("button", name="Go to the cell").click()
            notebook.page.wait_for_function("/zeros/.test(getSelection().toString())")
            notebook.picture("cell")
            assert not notebook.errors


def kill_kernel(notebook):
    """Ends the kernel with `kill -9` from here, and waits until the page says so."""
    pid = int(notebook.run(1))
    os.kill(pid, signal.SIGKILL)
    return notebook.notification()


def test_kill_9_is_killed_from_outside_and_not_out_of_memory(chromium, server):
    server.write_notebook("outside.ipynb", ["import os; print(os.getpid())"])
    with opened(chromium, server, "outside.ipynb", "outside") as notebook:
        told = kill_kernel(notebook)
        notebook.page.locator(DIALOG).wait_for()
        notebook.picture("notification")
        assert "killed from outside" in told
        assert "out of memory" not in told.lower()
        notebook.dismiss_dialog()
        assert notebook.page.locator(NOTIFICATION).count() == 1


def test_the_first_cell_after_a_restart_has_the_verdict_above_its_output(chromium, server):
    cells = ["import os; print(os.getpid())", KEEP, KEEP]
    server.write_notebook("again.ipynb", cells)
    with opened(chromium, server, "again.ipynb", "again") as notebook:
        kill_kernel(notebook)
        notebook.dismiss_dialog()
        shown = notebook.run(2)
        notebook.picture("first-cell")
        assert 0 <= shown.find("killed from outside") < shown.find("made before")
        assert notebook.run(3).strip() == "made before"


def test_text_of_a_notebook_is_never_markup(chromium, server):
    code = f"""
import numpy, os
name = {HOSTILE!r}
source = "def hold(n): return numpy.ones(n << 17)\\n\\n\\ndef end(): os.kill(os.getpid(), 9)\\n"
exec(compile(source, f"/tmp/{{name}}.py", "exec"))
globals()[name] = hold(300)
""".strip()
    refused = f"""
try:
    hold(4000)
except MemoryError as error:
    raise MemoryError({HOSTILE!r}) from error
""".strip()
    name = f"{HOSTILE}.ipynb"
    server.write_notebook(name, [code, refused, "hold(4000)", "end()", "1"])
    with opened(chromium, server, name, "hostile") as notebook:
        notebook.run(1)
        notebook.run(2)
        notebook.run(3)
        # The variable and the file, in the block; the traceback has them too.
        assert HOSTILE in notebook.cell(3).locator(".jp-RenderedHTMLCommon").inner_text()
        notebook.picture("block")
        notebook.page.locator(STATUS).click()
        notebook.page.locator(HOLDERS).get_by_text(HOSTILE).first.wait_for()
        notebook.picture("holders")
        notebook.page.keyboard.press("Escape")
        notebook.start(4)
        notebook.notification()
        notebook.dismiss_dialog()
        notebook.press("Explain")
        assert HOSTILE in notebook.page.locator(EXPLANATION).inner_text()
        notebook.picture("explanation")
        assert notebook.page.evaluate("window.pwned") is None
        assert notebook.page.locator('img[src="x"]').count() == 0


def test_a_kernel_without_the_guard_says_what_to_do(chromium, server):
    server.add_unguarded_kernel("bare")
    server.write_notebook("bare.ipynb", ["1"], kernel="bare")
    with opened(chromium, server, "bare.ipynb", "unguarded") as notebook:
        notebook.run(1)
        assert notebook.status() == "Outlive off"
        notebook.page.locator(STATUS).focus()
        notebook.page.keyboard.press("Enter")
        told = notebook.page.locator(HOLDERS).inner_text()
        assert "outlive setup jupyter" in told
        assert "%load_ext outlive" in told
        notebook.picture("popup")
        notebook.page.keyboard.press("Escape")
        notebook.page.locator(HOLDERS).wait_for(state="detached")


def test_a_server_without_outlive_is_asked_once_and_nothing_is_shown(chromium, tmp_path):
    environment = jupyterlab.with_extension_of_the_page_only(tmp_path / "env")
    with jupyterlab.server(environment, tmp_path, {}) as server:
        server.write_notebook("plain.ipynb", ["import time; time.sleep(3)"])
        with opened(chromium, server, "plain.ipynb", "plain") as notebook:
            notebook.run(1)
            assert not notebook.page.locator(STATUS).is_visible()
            # Both parts may ask before the first answer is there.
            assert 1 <= len(notebook.asked) <= 2
            assert not notebook.errors


def test_figures_change_each_second_while_a_cell_runs_and_the_page_hardly_asks(chromium, server):
    grow = "held = []\nfor _ in range(45):\n"
    grow += "    held.append(numpy.ones(20 << 17))\n    time.sleep(0.15)"
    server.write_notebook("grow.ipynb", ["import numpy, time", grow])
    with opened(chromium, server, "grow.ipynb", "status") as notebook:
        notebook.run(1)
        notebook.page.locator(STATUS).wait_for()
        notebook.asked.clear()
        notebook.page.evaluate(WATCH_STATUS, STATUS)
        notebook.run(2)
        seen = notebook.page.evaluate("seen")
        seconds = (seen[-1][0] - seen[0][0]) / 1000
        assert seconds > 5
        assert len(seen) - 1 >= seconds
        # A question costs the browser much more than an event; see `pulse.py`.
        assert len(notebook.asked) <= 4
        uses = [float(re.search(r"[\d.]+", text)[0]) for _, text in seen]
        assert uses[-1] > uses[0] + 500
        assert "short" in notebook.status()
        notebook.page.locator(STATUS).click()
        notebook.page.locator(HOLDERS).get_by_text("held.append").wait_for()
        notebook.picture("holders")


# Notes what the item says each time that it changes.
WATCH_STATUS = """selector => {
    window.seen = [];
    const item = document.querySelector(selector);
    const note = () => window.seen.push([performance.now(), item.textContent]);
    new MutationObserver(note).observe(item, {childList: true});
}"""


def test_a_page_in_dark_colours_is_as_complete(chromium, server):
    server.write_notebook("dark.ipynb", ["import os; print(os.getpid())"])
    with opened(chromium, server, "dark.ipynb", "dark", scheme="dark") as notebook:
        kill_kernel(notebook)
        notebook.dismiss_dialog()
        notebook.press("Explain")
        notebook.page.locator(EXPLANATION).wait_for()
        notebook.picture("explanation")
        colours = notebook.page.evaluate(COLOURS, f"{EXPLANATION} pre")
        assert sum(colours["text"]) > 3 * sum(colours["ground"])


# Red, green and blue of an element's text and background.
COLOURS = """selector => {
    const style = getComputedStyle(document.querySelector(selector));
    const parts = colour => colour.match(/[0-9.]+/g).slice(0, 3).map(Number);
    return {text: parts(style.color), ground: parts(style.backgroundColor)};
}"""
