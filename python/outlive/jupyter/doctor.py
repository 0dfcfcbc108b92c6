"""`outlive doctor jupyter`: looks at every piece of the set-up, and says what is missing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import outlive
from outlive import _command, _store
from outlive.jupyter import piece as pieces
from outlive.jupyter import unguarded
from outlive.jupyter.change import contents
from outlive.jupyter.environment import LEAST, Environment, major
from outlive.jupyter.finding import Finding
from outlive.jupyter.json_entry import NotAnObjectError

_SET_UP = "`outlive setup jupyter`"
_REINSTALL = f"`{sys.executable} -m pip install --force-reinstall outlive`"
_GROUP = "jupyter_client.kernel_provisioners"
_NAME = "outlive-provisioner"
_FACTORY = "KernelProvisionerFactory"
_OVERRIDE = "JUPYTER_DEFAULT_PROVISIONER_NAME"


def report(environment: Environment, form: str) -> int:
    """Prints what was found.

    Args:
        environment: The environment to look at.
        form: `text` or `json`.

    Returns:
        The exit code: 0 only if all is well.
    """
    found = []
    for finding in findings(environment):
        found.append(finding)
        if form == "text":
            print(finding.line(), flush=True)
    ok = all(finding.ok for finding in found)
    if form == "json":
        whole = {"version": 1, "ok": ok, "prefix": str(environment.prefix)}
        print(json.dumps({**whole, "pieces": [finding.facts() for finding in found]}, indent=2))
    return 0 if ok else 1


def findings(environment: Environment) -> Iterator[Finding]:
    """Looks at one piece after the other; the slow one last.

    Args:
        environment: The environment to look at.
    """
    yield from _packages(environment)
    yield _program()
    yield _hook_library()
    yield _budget()
    yield _run_store()
    yield _entry_point()
    if environment.has("jupyter_server"):
        extension = _server_extension(environment)
        yield extension
        yield _default_provisioner(extension.ok)
    if environment.has("ipykernel"):
        yield _ipython(environment)
    if environment.has("nbclient"):
        yield _start(environment)
    if environment.has("jupyterlab"):
        yield _lab(environment)
    if environment.has("ipykernel"):
        yield from _kernel()
    yield from _unguarded()


def _packages(environment: Environment) -> Iterator[Finding]:
    for package, (least, use) in LEAST.items():
        version = environment.versions.get(package)
        if version is None:
            # One may do without JupyterLab or a server; without kernels there is nothing to do.
            needed = package in ("ipykernel", "jupyter_client")
            hint = f"`{sys.executable} -m pip install {package}`"
            yield Finding(package, not needed, f"not installed; no {use}", hint)
        else:
            hint = f"`{sys.executable} -m pip install --upgrade {package}`"
            old = major(version) < least
            text = f"{version}, too old for {use}" if old else version
            yield Finding(package, not old, text, hint)


def _program() -> Finding:
    try:
        path = _command.program()
        asked = [str(path), "--version"]
        told = subprocess.run(asked, capture_output=True, text=True, timeout=10, check=True).stdout
    except (outlive.CommandError, OSError, subprocess.SubprocessError) as error:
        return Finding("program", False, str(error).splitlines()[0], _REINSTALL)
    version = told.strip().rpartition(" ")[2]
    ok = version == outlive.__version__
    text = f"{path}, {version}" + ("" if ok else f"; the package is {outlive.__version__}")
    return Finding("program", ok, text, _REINSTALL)


def _hook_library() -> Finding:
    name = "liboutlive_hook.so"
    named = os.environ.get("OUTLIVE_HOOK_LIBRARY")
    places = [Path(named)] if named else [Path(outlive.__file__).parent / "_lib" / name]
    found = [place for place in places if place.is_file()]
    text = str(found[0]) if found else f"not at {places[0]}"
    return Finding("hook library", bool(found), text, _REINSTALL)


def _budget() -> Finding:
    try:
        return Finding("budget", True, str(outlive.usage()))
    except OSError as error:
        return Finding("budget", False, str(error), "mount /proc and the memory cgroups")


def _run_store() -> Finding:
    """Without a place to record to, nothing is guarded."""
    folder = _store.folder()
    hint = "set OUTLIVE_HOME to a folder that you may write to"
    if folder is None:
        return Finding("run store", False, "neither OUTLIVE_HOME nor HOME is set", hint)
    present = next((one for one in (folder, *folder.parents) if one.exists()), folder)
    ok = present.is_dir() and os.access(present, os.W_OK | os.X_OK)
    text = str(folder) if ok else f"{folder} cannot be written to"
    return Finding("run store", ok, text, hint)


def _entry_point() -> Finding:
    names = {found.name for found in _entry_points()}
    text = _NAME if _NAME in names else f"no entry point `{_NAME}`"
    return Finding("provisioner", _NAME in names, text, _REINSTALL)


def _entry_points() -> Any:  # noqa: ANN401
    found: Any = metadata.entry_points()
    # Before Python 3.10 it is a dictionary.
    return found.get(_GROUP, ()) if isinstance(found, dict) else found.select(group=_GROUP)


def _server_extension(environment: Environment) -> Finding:
    """Whether the extension is on after all of Jupyter's configuration folders were read."""
    from jupyter_core.paths import jupyter_config_path  # type: ignore[import-not-found]
    from jupyter_server.config_manager import (  # type: ignore[import-not-found]
        BaseJSONConfigManager,
    )

    name = "server extension"
    if not _is_there(pieces.server_piece(environment)):
        return Finding(name, False, f"not in {pieces.server_piece(environment).path}", _SET_UP)
    for folder in jupyter_config_path():
        section = BaseJSONConfigManager(config_dir=folder).get("jupyter_server_config")
        said = section.get("ServerApp", {}).get("jpserver_extensions", {}).get(pieces.EXTENSION)
        # The first folder that says anything decides.
        if said is False:
            text = f"switched off in {folder}"
            return Finding(
                name, False, text, f"`jupyter server extension enable {pieces.EXTENSION}`"
            )
        if said:
            break
    return Finding(name, True, "enabled")


def _default_provisioner(extension: bool) -> Finding:
    from jupyter_core.paths import jupyter_config_path
    from jupyter_server.config_manager import BaseJSONConfigManager

    name = "default provisioner"
    chosen = os.environ.get(_OVERRIDE)
    if chosen and chosen not in (_NAME, "local-provisioner"):
        return Finding(name, False, f"{_OVERRIDE} chooses `{chosen}`", f"unset {_OVERRIDE}")
    for folder in jupyter_config_path():
        for file in ("jupyter_config", "jupyter_server_config"):
            section = BaseJSONConfigManager(config_dir=folder).get(file).get(_FACTORY, {})
            chosen = section.get("default_provisioner_name")
            if chosen and chosen not in (_NAME, "local-provisioner"):
                text = f"{folder}/{file}.json chooses `{chosen}`"
                return Finding(name, False, text, f"remove `{_FACTORY}` there")
    if not extension and os.environ.get(_OVERRIDE) != _NAME:
        return Finding(name, False, "local-provisioner: the server extension is off", _SET_UP)
    return Finding(name, True, f"{_NAME}, by the server extension")


def _ipython(environment: Environment) -> Finding:
    piece = pieces.ipython_piece(environment)
    there = _is_there(piece)
    text = str(piece.path) if there else f"not in {piece.path}"
    return Finding("IPython's configuration", there, text, _SET_UP)


def _start(environment: Environment) -> Finding:
    piece = pieces.start_piece(environment)
    there = contents(piece.path) == piece.content
    text = str(piece.path) if there else f"no {piece.path}, or of another version"
    return Finding("nbclient", there, text, _SET_UP)


def _lab(environment: Environment) -> Finding:
    missing = [
        piece.path
        for piece in pieces.lab_pieces(environment)
        if contents(piece.path) != piece.content
    ]
    folder = pieces.lab_folder(environment)
    text = f"no {missing[0]}, or of another version" if missing else str(folder)
    return Finding("JupyterLab's extension", not missing, text, _SET_UP)


def _kernel() -> Iterator[Finding]:
    from outlive.jupyter.trial import trial

    try:
        seen = trial()
    except Exception as error:  # Whatever it is, it is the finding.
        text = f"did not start: {type(error).__name__}: {error}"
        yield Finding("kernel", False, text, "look at the lines above first")
        return
    guarded = seen.guarded and seen.recorded
    text = "started, and the guard is on inside" if guarded else "started without the guard"
    yield Finding("kernel", guarded, text, "look at the lines above first")
    hint = f"{_SET_UP}; a profile that sets `InteractiveShellApp.extensions` itself must add to it"
    text = "loaded in it" if seen.extension else "not loaded in it"
    yield Finding("IPython's extension", seen.extension, text, hint)


def _unguarded() -> Iterator[Finding]:
    """Libraries in kernels that run now; a kernel that Outlive starts has none."""
    hint = "start that kernel under Outlive: restart it once this environment is set up"
    found = unguarded.libraries()
    for note in found:
        yield Finding("library", False, note, hint)
    if not found:
        yield Finding("libraries of running kernels", True, "all are guarded")


def _is_there(piece: pieces.Piece) -> bool:
    content = contents(piece.path)
    try:
        return content is not None and piece.entry is not None and piece.entry.is_in(content)
    except NotAnObjectError:
        return False
