"""`outlive setup jupyter`: puts Outlive into the Jupyter of an environment, and takes it out."""

from __future__ import annotations

import os
from pathlib import Path

from outlive.jupyter import piece as pieces
from outlive.jupyter import record as records
from outlive.jupyter.change import Change, Changes, contents, missing_folders
from outlive.jupyter.environment import Environment, UnsuitableError, refuse_unsuitable
from outlive.jupyter.json_entry import JsonEntry, NotAnObjectError
from outlive.jupyter.record import Record, Written


def set_up(environment: Environment, dry: bool) -> list[str]:
    """Writes what is missing.

    Args:
        environment: Where.
        dry: Only say what would be done.

    Returns:
        What was done, a line each.

    Raises:
        UnsuitableError: Nothing can be set up here.
        OSError: A file cannot be written; all is as it was.
    """
    refuse_unsuitable(environment)
    path = records.record_path(environment)
    old = records.read(path) or Record()
    new, changes, lines = _plan(environment, old, dry)
    remarks = _remarks(environment)
    if not changes.changes:
        return [f"Outlive is set up in `{environment.prefix}`: nothing to do", *remarks]
    wanted = [change.path for change in changes.changes if change.after is not None]
    changes.folders = missing_folders([path, *wanted])
    new.folders = _joined(old.folders, [environment.relative(it) for it in changes.folders])
    # The record first: whatever happens after it can be undone.
    changes.changes.insert(0, Change(path, contents(path), new.as_bytes()))
    lines.insert(0, _line("write", path, dry))
    _refuse_read_only(changes)
    if not dry:
        changes.apply()
        lines.append("Done; a Jupyter that is running takes it up when it is started again")
    return [*lines, *remarks]


def undo(environment: Environment, dry: bool) -> list[str]:
    """Takes everything back.

    Args:
        environment: Where.
        dry: Only say what would be done.

    Returns:
        What was done, a line each.

    Raises:
        UnsuitableError: The record is damaged.
        OSError: A file cannot be written; all is as it was.
    """
    path = records.record_path(environment)
    old = records.read(path)
    if old is None:
        return [f"Outlive is not set up in `{environment.prefix}`: nothing to do"]
    changes, lines = Changes(), []
    for written in old.files.values():
        change = _taken_back(environment, written)
        if change is not None:
            changes.changes.append(change)
            lines.append(_line("remove" if change.after is None else "restore", change.path, dry))
    changes.changes.append(Change(path, contents(path), None))
    lines.append(_line("remove", path, dry))
    changes.empty = [environment.prefix / folder for folder in old.folders]
    _refuse_read_only(changes)
    if not dry:
        changes.apply()
        left = [str(folder) for folder in changes.empty if folder.exists()]
        lines += [f"Kept, since there is something else in it: `{folder}`" for folder in left[-1:]]
    return lines


def _plan(
    environment: Environment,
    old: Record,
    dry: bool,
) -> tuple[Record, Changes, list[str]]:
    """What has to change for every piece to be there, and for none of an older version to be."""
    new, changes, lines = Record(folders=list(old.folders)), Changes(), []
    for piece in pieces.all_pieces(environment):
        before, name = contents(piece.path), environment.relative(piece.path)
        try:
            after = piece.put_into(before)
        except NotAnObjectError as error:
            raise UnsuitableError(
                f"`{piece.path}` is no configuration file: {error}\nhint: mend it, or remove it"
            ) from error
        if after != before:
            changes.changes.append(Change(piece.path, before, after))
            verb = "write" if before is None or piece.entry is None else "merge"
            lines.append(_line(verb, piece.path, dry))
        if name in old.files and after == before:
            new.files[name] = old.files[name]
        elif after != before:
            new.files[name] = _written(environment, piece, before, after, old.files.get(name))
    for name in old.files.keys() - new.files.keys():
        change = _taken_back(environment, old.files[name])
        if change is not None:
            changes.changes.append(change)
            lines.append(_line("remove" if change.after is None else "restore", change.path, dry))
    return new, changes, lines


def _written(
    environment: Environment,
    piece: pieces.Piece,
    before: bytes | None,
    after: bytes,
    old: Written | None,
) -> Written:
    # Over a file that an earlier version wrote, what was there before that one still counts.
    was, mode = records.encoded(before), _mode(piece.path)
    is_ours = piece.entry is None or (before and old and records.digest(before) == old.digest)
    if old is not None and is_ours:
        was, mode = old.before, old.mode
    keys = list(piece.entry.keys) if piece.entry else None
    item = piece.entry.item if piece.entry else None
    name = environment.relative(piece.path)
    return Written(name, records.digest(after), was, mode, keys, item)


def _taken_back(environment: Environment, written: Written) -> Change | None:
    """How a file becomes what it was; if the user changed it since, only our entry goes."""
    path = environment.prefix / written.path
    now = contents(path)
    if now is None:
        return None
    if written.keys is None or records.digest(now) == written.digest:
        return Change(path, now, written.was(), written.mode)
    try:
        rest = JsonEntry(tuple(written.keys), written.item).taken_from(now)
    except NotAnObjectError:
        return None
    if rest is None and written.before is not None:
        rest = written.was()
    return None if rest == now else Change(path, now, rest)


def _remarks(environment: Environment) -> list[str]:
    remarks = []
    if not environment.has("jupyter_server"):
        text = "No jupyter_server here: kernels of other front ends, such as VS Code, are covered"
        remarks.append(text)
    if not environment.has("jupyterlab"):
        text = "No JupyterLab here: the rest works; after installing it, run this again"
        remarks.append(text)
    return remarks


def _refuse_read_only(changes: Changes) -> None:
    """Looks first whether all can be written, so that one line says where not."""
    for change in changes.changes:
        # The folder of the file itself: a link is written where it leads.
        folder = Path(os.path.realpath(change.path)).parent
        while not folder.exists():
            folder = folder.parent
        if not os.access(folder, os.W_OK | os.X_OK):
            raise UnsuitableError(
                f"Cannot write into `{folder}`\n"
                "hint: run it as the owner of the environment, or make one of your own"
            )


def _mode(path: Path) -> int | None:
    return path.stat().st_mode & 0o7777 if path.exists() else None


def _line(verb: str, path: Path, dry: bool) -> str:
    done = {"write": "wrote", "merge": "merged", "remove": "removed", "restore": "restored"}[verb]
    return f"would {verb} {path}" if dry else f"{done} {path}"


def _joined(old: list[str], new: list[str]) -> list[str]:
    return [*old, *(name for name in new if name not in old)]
