"""`outlive.OutOfHeadroom`: the exception that ends growth before the kernel ends the process.

This text runs in two places: in the package, and, by the hook, inside any interpreter from 3.9 on,
before the program starts. So it stands alone and imports nothing before there is an error to tell.
The hook puts a function `_facts` beside it, which gives what the exception is to carry.
"""

_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
# More are no help: a person looks at the first.
_HOLDERS_SHOWN = 5
# Who holds less than one part in so many of the first has nothing to give.
_WORTH_A_LINE = 20
_FACTS = ("requested", "headroom", "budget", "source", "holders")


def size_text(count: int) -> str:
    """A number of bytes as a person reads it: `16.0 GiB`, `512 MiB`, `17 bytes`."""
    value = float(max(count, 0))
    unit = 0
    # 1000 rather than 1024: `1010 MiB` reads worse than `0.99 GiB` is wrong.
    while value >= 1000 and unit + 1 < len(_UNITS):
        value /= 1024
        unit += 1
    # GiB and above decide between machines, so they keep a digit behind the point.
    digits = 1 if unit > 2 or (unit > 0 and value < 9.95) else 0
    return f"{value:.{digits}f} {_UNITS[unit]}"


def explanation(
    requested: "int | None" = None,
    headroom: "int | None" = None,
    budget: "int | None" = None,
    source: "str | None" = None,
    holders: "tuple[tuple[int, str], ...]" = (),
) -> str:
    """What happened, who holds the memory and what to do, for a refusal or a stop.

    Args:
        requested: Bytes that were asked for; nothing where growth by small pieces was stopped.
        headroom: Bytes that were left.
        budget: Bytes that the program may use.
        source: What sets the budget.
        holders: Bytes and `file:line in function` of the lines that hold most.
    """
    lines = [_first_line(requested, headroom, budget, source)]
    shown = [one for one in holders if one[0] * _WORTH_A_LINE >= holders[0][0]][:_HOLDERS_SHOWN]
    for number, (count, place) in enumerate(shown):
        label = "held by" if number == 0 else ""
        lines.append(f"  {label:8}{size_text(count):>9}  {place}")
    return "\n".join([*lines, "hint: " + _hint(requested, budget, len(shown))])


def _first_line(
    requested: "int | None", headroom: "int | None", budget: "int | None", source: "str | None"
) -> str:
    left = "little headroom" if headroom is None else f"{size_text(headroom)} of headroom"
    whole = "" if budget is None else f" of a budget of {size_text(budget)}"
    where = f" ({source})" if source else ""
    if requested:
        return f"Asked for {size_text(requested)} with {left} left{whole}{where}"
    return f"Growth was stopped with {left} left{whole}{where}"


def _hint(requested: "int | None", budget: "int | None", shown: int) -> str:
    if requested and budget is not None and requested > budget:
        return (
            "make it smaller or work in pieces, no limit here is as large; an array that stays "
            "mostly empty passes inside `with outlive.sparse():` or with `--allow-sparse`"
        )
    named = {0: "what is no longer needed", 1: "what this line holds"}
    what = named.get(shown, "what these lines hold")
    return f"let go of {what} or take smaller batches; `outlive.retry` does it and tries again"


def _is_importable(kind: type) -> bool:
    """Whether whoever reads a pickle would find this class by its name."""
    try:
        import sys

        __import__(kind.__module__)
        found: object = sys.modules[kind.__module__]
        for part in kind.__qualname__.split("."):
            found = getattr(found, part)
    except Exception:
        return False
    return found is kind


def _class_for_pickle(kind: type) -> "str | tuple[type, tuple[MemoryError]]":
    # A DataLoader's worker sends the class of its error; an error while it does so would leave the
    # parent waiting. The second form is a call that gives `MemoryError` itself.
    return kind.__qualname__ if _is_importable(kind) else (type, (MemoryError(),))


class _Kind(type):
    """Lets pickle ask `_class_for_pickle`, which it does for classes of another type only."""


# The name says what ran out, as `KeyboardInterrupt` does.
class OutOfHeadroom(MemoryError, metaclass=_Kind):  # noqa: N818
    """The program was about to use more memory than it may.

    Attributes:
        requested: Bytes that were asked for; `None` where growth by small pieces was stopped.
        headroom: Bytes that were left.
        budget: Bytes that the program may use.
        source: What sets the budget, such as `memory cgroup /user.slice`.
        holders: Bytes and `file:line in function` of the lines that hold most, largest first.
    """

    requested: "int | None" = None
    headroom: "int | None" = None
    budget: "int | None" = None
    source: "str | None" = None
    holders: "tuple[tuple[int, str], ...]" = ()

    def __init__(
        self,
        *message: object,
        requested: "int | None" = None,
        headroom: "int | None" = None,
        budget: "int | None" = None,
        source: "str | None" = None,
        holders: "tuple[tuple[int, str], ...]" = (),
    ) -> None:
        super().__init__(*message)
        given = {
            "requested": requested,
            "headroom": headroom,
            "budget": budget,
            "source": source,
            "holders": tuple(holders) or None,
        }
        facts = {name: fact for name, fact in given.items() if fact is not None}
        if message or facts:
            _teach_pickle()
            self.__dict__.update(facts)
        else:
            # Raised in another thread as a class, it is made without a word.
            self.__dict__.update(_facts_undisturbed())

    def __str__(self) -> str:
        if self.args:
            return super().__str__()
        return explanation(
            self.requested, self.headroom, self.budget, self.source, tuple(self.holders)
        )

    def __reduce__(self) -> "tuple[object, ...]":
        import copyreg

        if not _is_importable(type(self)):
            return MemoryError, (str(self),)
        # Not by `__init__`, which would ask for the facts of the process that reads it.
        make = copyreg.__newobj__  # type: ignore[attr-defined]
        return make, (type(self), *self.args), self.__dict__


OutOfHeadroom.__module__ = "outlive"


def _teach_pickle() -> None:
    # Only now, since most programs never see this error and many never load pickle.
    import copyreg

    copyreg.dispatch_table.setdefault(_Kind, _class_for_pickle)


def _facts_undisturbed() -> "dict[str, object]":
    """The facts of a stop; until they are there, the hook lets no other one come between."""
    known = globals()
    arrived, told = known.get("_arrived"), known.get("_told")
    if arrived is None or told is None:
        _teach_pickle()
        return _asked_facts()
    arrived()
    try:
        _teach_pickle()
        return _asked_facts()
    finally:
        told()


def _asked_facts() -> "dict[str, object]":
    ask = globals().get("_facts")
    if ask is None:
        return {}
    try:
        facts = dict(ask())
        facts["holders"] = tuple(facts.get("holders") or ())
    except Exception:
        # An exception without figures is better than another one in its place.
        return {}
    return {name: facts[name] for name in _FACTS if name in facts}
