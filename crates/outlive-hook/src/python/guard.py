"""The guard's part in Python: what an exception says, and what can be freed before one is raised.

Runs after `bootstrap.py` and the package's `_out_of_headroom.py`, in the same namespace. What
starts with an underscore and is not defined in one of the three comes from the hook.
"""

# Types whose message has to name memory to be about it.
_BROAD = ("RuntimeError", "ResourceExhaustedError", "InternalError", "OSError", "ValueError")
_MEMORY_WORDS = ("alloc", "memory", "OOM", "Errno 12")


def measure():
    """How the tree stands now."""
    names = ("budget", "use", "headroom", "untouched", "resident", "source")
    return dict(zip(names, _measure()))


def tighten(limit):
    """Lowers the budget for as long as this process says so; 0 ends it."""
    _tighten(int(limit))


def keep_back(size):
    """Keeps so much of the budget back, until told otherwise, for when nothing else is left."""
    _keep_back(int(size))


def sparse(on):
    """Lets large requests of this thread through: most of what they get will not be touched."""
    _sparse(1 if on else 0)


def holders(count):
    """The lines that hold most: bytes and `file:line in function`."""
    return [_in_words(holder) for holder in _holders(count)]


def place_of(address):
    """Who acquired the block that begins at an address: bytes and `file:line in function`."""
    holder = _holder_of(address)
    return holder and _in_words(holder)


def _in_words(holder):
    size, file, line, name = holder
    file = file.decode("utf-8", "replace")
    name = name.decode("utf-8", "replace")
    return size, f"{file}:{line} in {name}"


def last_refusal():
    """What the last refusal or stop of this process was about."""
    last = _last()
    if last is None:
        return None
    names = ("requested", "headroom", "budget", "source")
    facts = dict(zip(names, last))
    facts["requested"] = facts["requested"] or None
    facts["headroom"] = max(facts["headroom"], 0)
    return facts


def _facts():
    facts = last_refusal() or {}
    facts["holders"] = holders(5)
    return facts


def _is_about_memory(error):
    if isinstance(error, MemoryError):
        return True
    if type(error).__name__ not in _BROAD:
        return False
    text = str(error)
    return any(word in text for word in _MEMORY_WORDS)


def _explain():
    """Adds the facts of a refusal to the exception that it became."""
    import sys

    error = _error_in_the_making(sys._getframe(1)) or sys.exc_info()[1]
    if error is None or isinstance(error, OutOfHeadroom) or not _is_about_memory(error):
        return
    _explained()
    notes = getattr(error, "__notes__", None)
    text = explanation(**_facts())
    if notes is None:
        error.__notes__ = [text]
    elif text not in notes:
        notes.append(text)


def _error_in_the_making(frame):
    """An exception whose own `__init__` is what this thread was interrupted in, as NumPy's."""
    code = frame.f_code
    if code.co_name != "__init__" or not code.co_argcount:
        return None
    made = frame.f_locals.get(code.co_varnames[0])
    return made if isinstance(made, BaseException) else None


def _reclaim():
    """Frees what nobody would miss: cyclic garbage, and caches of frameworks that are loaded."""
    import sys

    steps = []
    gc = sys.modules.get("gc")
    if gc is None:
        import gc
    steps.append(gc.collect)
    torch = sys.modules.get("torch")
    cuda = getattr(torch, "cuda", None)
    if cuda is not None and getattr(cuda, "is_initialized", bool)():
        steps.append(cuda.empty_cache)
    for step in steps:
        try:
            step()
        except BaseException:
            pass


# How many objects are kept from the collector, by us; empty when none are.
_frozen = []
# From 3.12 on the interpreter keeps some hundred objects from it by itself.
_FROZEN_BY_PYTHON = 2000


def _spare_shared():
    """Keeps the collector away from objects that are there, whose pages forked processes share."""
    import gc

    if not _frozen and gc.get_freeze_count() < _FROZEN_BY_PYTHON:
        gc.freeze()
        _frozen.append(gc.get_freeze_count())


def _use_all():
    """Ends that, unless the program has frozen something itself meanwhile."""
    import gc

    if _frozen and gc.get_freeze_count() <= _frozen.pop():
        gc.unfreeze()


def _end():
    """Notes how the program ended; nothing of ours may come between."""
    _leave()
    try:
        _note_at_exit()
    finally:
        _left()


def _install_guard():
    import sys

    posix = sys.modules.get("posix")
    if posix is not None:
        posix.register_at_fork(
            before=_before_fork,
            after_in_parent=_after_fork_in_parent,
            after_in_child=_after_fork_in_child,
        )
    was_there = "atexit" in sys.modules
    import atexit

    atexit.unregister(_note_at_exit)
    atexit.register(_end)
    if not was_there and sys.version_info >= (3, 10):
        del sys.modules["atexit"]


def _share_class():
    """A program that has imported the package knows its class: that one is raised."""
    import sys

    module = sys.modules.get("outlive._out_of_headroom")
    if module is not None:
        module._facts, module._arrived, module._told = _facts, _arrived, _told
        globals()["OutOfHeadroom"] = module.OutOfHeadroom


_share_class()
_install_guard()
