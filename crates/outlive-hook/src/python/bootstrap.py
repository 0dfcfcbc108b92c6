"""Runs once inside the recorded program; see bootstrap.rs.

`_record` and `_probe` come from the hook. No module is imported that was not there already, apart
from the built-in `atexit`; nothing is left behind in any namespace, not even a reference to a
module, so everything is imported where it is used.
"""


def _traceback_lines(traceback):
    lines = []
    while traceback is not None:
        code = traceback.tb_frame.f_code
        name = getattr(code, "co_qualname", code.co_name)
        lines.append(f"{code.co_filename}:{traceback.tb_lineno} in {name}")
        traceback = traceback.tb_next
    return "\n".join(lines[-24:])


def _note(kind, thread, error):
    try:
        kind_of_error = type(error)
        module = kind_of_error.__module__
        name = kind_of_error.__qualname__
        if module not in ("builtins", "__main__"):
            name = f"{module}.{name}"
        try:
            message = str(error)
        except BaseException:
            message = "<no text>"
        text = (thread, name, message, _traceback_lines(error.__traceback__))
        _record(kind, *(part.encode("utf-8", "replace").replace(b"\0", b"?") for part in text))
    except BaseException:
        pass


def _note_at_exit():
    import sys

    error = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
    if isinstance(error, BaseException) and not isinstance(error, SystemExit):
        _note(1, "MainThread", error)


def _install_for_threads():
    import sys

    # Fails until the module is imported, which threads that it does not make may precede.
    threading = sys.modules["threading"]
    before = threading.excepthook

    def excepthook(args, /):
        error = args.exc_value
        if error is not None and not isinstance(error, SystemExit):
            _note(2, getattr(args.thread, "name", "") or "", error)
        return before(args)

    threading.excepthook = excepthook


def _outlive_probe():
    return _probe(_outlive_probe.__code__.co_firstlineno + 1)


def _install():
    import sys

    was_there = "atexit" in sys.modules
    import atexit

    atexit.register(_note_at_exit)
    # From 3.10 on, what is registered belongs to the interpreter and not to the module.
    if not was_there and sys.version_info >= (3, 10):
        del sys.modules["atexit"]


_outlive_probe()
_install()
