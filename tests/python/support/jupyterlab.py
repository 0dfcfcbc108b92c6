"""A real JupyterLab in an environment of its own, and all that its server writes in one folder."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import outlive
from support.environment import Environment

TOKEN = "outlive-tests"
# A server starts in three seconds; on a machine that does other things it takes longer.
PATIENCE_SECONDS = 60
# Asks people whether they want news, over the place where notifications appear.
NEWS = "@jupyterlab/apputils-extension:announcements"


def make_environment(prefix):
    """An environment that borrows all packages of the one that runs the tests."""
    borrowed = [path for path in sys.path if path.endswith("site-packages")]
    return Environment(prefix, packages=borrowed)


def with_extension_of_the_page_only(prefix):
    """An environment whose JupyterLab has our extension, and whose server has not."""
    made = make_environment(prefix)
    target = made.prefix / "share" / "jupyter" / "labextensions" / "outlive"
    shutil.copytree(Path(outlive.__file__).parent / "jupyter" / "lab", target)
    return made


@dataclass
class Server:
    """A JupyterLab server that runs, and the folder of all it writes."""

    process: subprocess.Popen
    port: int
    folder: Path

    @property
    def notebooks(self):
        """Its root: where notebooks are."""
        return self.folder / "notebooks"

    @property
    def runs(self):
        """`$OUTLIVE_HOME` of its kernels."""
        return self.folder / "outlive"

    def address(self, path):
        """The whole address of a path, with the token that opens it."""
        return f"http://127.0.0.1:{self.port}/{path}?token={TOKEN}"

    def ask(self, path):
        """The answer of its REST interface."""
        with urllib.request.urlopen(self.address(path), timeout=PATIENCE_SECONDS) as answer:
            return json.load(answer)

    def log(self):
        """What it wrote, for messages about failures."""
        return (self.folder / "server.log").read_text(errors="replace")

    def cpu_seconds(self):
        """The time that its own process computed."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def write_notebook(self, name, cells, kernel="python3"):
        """Puts a notebook of code cells into the root."""
        made = [
            {
                "cell_type": "code",
                "id": f"cell-{number}",
                "metadata": {},
                "source": source,
                "outputs": [],
                "execution_count": None,
            }
            for number, source in enumerate(cells, 1)
        ]
        wanted = {"name": kernel, "display_name": "Python 3", "language": "python"}
        document = {"nbformat": 4, "nbformat_minor": 5, "metadata": {"kernelspec": wanted}}
        (self.notebooks / name).write_text(json.dumps({**document, "cells": made}))

    def add_unguarded_kernel(self, name):
        """Offers a Python kernel whose specification asks for Jupyter's own way to start it."""
        folder = self.folder / "data" / "kernels" / name
        folder.mkdir(parents=True)
        specification = {
            "argv": ["python", "-m", "ipykernel_launcher", "-f", "{connection_file}"],
            "display_name": "Python without Outlive",
            "language": "python",
            "metadata": {"kernel_provisioner": {"provisioner_name": "local-provisioner"}},
        }
        (folder / "kernel.json").write_text(json.dumps(specification))


@contextmanager
def server(environment, folder, settings, enter=None):
    """Starts a server in a folder, with more settings in its environment.

    Args:
        environment: Whose JupyterLab.
        folder: Where everything goes that it writes.
        settings: Environment variables of the server and its kernels.
        enter: Runs in the server's process before it starts.
    """
    port = _free_port()
    for name in ("notebooks", "config/labconfig", "home"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    disabled = {"disabledExtensions": {NEWS: True}}
    (folder / "config/labconfig/page_config.json").write_text(json.dumps(disabled))
    themes = folder / "config/lab/user-settings/@jupyterlab/apputils-extension"
    themes.mkdir(parents=True)
    (themes / "themes.jupyterlab-settings").write_text(json.dumps({"adaptive-theme": True}))
    words = [environment.python, "-m", "jupyterlab", "--no-browser", "--allow-root"]
    words += ["--ip=127.0.0.1", f"--port={port}", "--port-retries=0"]
    words += [f"--IdentityProvider.token={TOKEN}", f"--ServerApp.root_dir={folder / 'notebooks'}"]
    words += ["--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"]
    # The tests ask the application whether it is ready; nothing else goes through it.
    words += ["--LabApp.expose_app_in_browser=True"]
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(
            [str(word) for word in words],
            env=environment.variables(**_variables(folder), **settings),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            preexec_fn=enter,
        )
    started = Server(process, port, folder)
    try:
        _wait_until_it_answers(started)
        yield started
    finally:
        _end(process)


def _variables(folder):
    """Nothing of the person who runs the tests, and nothing left for them."""
    share = Path(sys.prefix) / "share" / "jupyter"
    return {
        "HOME": str(folder / "home"),
        "JUPYTER_CONFIG_DIR": str(folder / "config"),
        "JUPYTER_DATA_DIR": str(folder / "data"),
        "JUPYTER_RUNTIME_DIR": str(folder / "runtime"),
        "JUPYTERLAB_DIR": str(share / "lab"),
        "JUPYTER_PATH": str(share),
        "IPYTHONDIR": str(folder / "ipython"),
        "OUTLIVE_HOME": str(folder / "outlive"),
        "CUDA_VISIBLE_DEVICES": "",
    }


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _wait_until_it_answers(started):
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        assert started.process.poll() is None, started.log()
        assert time.monotonic() < deadline, started.log()
        try:
            started.ask("api/status")
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.1)
        else:
            return


def _end(process):
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(PATIENCE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def why_missing():
    """Why no JupyterLab can be driven here; empty when one can."""
    for module in ("jupyterlab", "ipykernel", "playwright"):
        if not has(module):
            return f"{module} is not installed"
    return "" if chromium() else "there is no Chromium; on Debian: apt-get install chromium"


def may_install():
    """Whether `cargo xtask test` could have installed what is missing."""
    return os.geteuid() == 0 and shutil.which("apt-get") is not None


def chromium():
    """The browser's program."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


def has(module):
    """Whether a module is installed; it is not imported for that."""
    return find_spec(module) is not None
