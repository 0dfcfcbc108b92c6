"""Outlive: keeps a program alive when memory runs out, and says what ended one, with proof.

Nothing is loaded before it is asked for. A process may import this package at the worst of times:
to read an exception that a worker sent because memory was short.
"""

# What `typing.TYPE_CHECKING` is, without loading that either.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from outlive._command import why
    from outlive._grid.grid import Grid
    from outlive._grid.make_grid import make_grid
    from outlive._grid.over_budget import OverBudget
    from outlive._grid.save_image import save_image
    from outlive._guard import guard, sparse
    from outlive._native import (
        CommandError,
        FormatTooNewError,
        Frame,
        Identity,
        NotABlackBoxError,
        NotGuarded,
        OutliveError,
        Recording,
        Sample,
        Stack,
        Totals,
        UncaughtException,
        __version__,
        read,
    )
    from outlive._out_of_headroom import OutOfHeadroom
    from outlive._retry import retry
    from outlive._usage import Usage, headroom, usage

__all__ = [
    "CommandError",
    "FormatTooNewError",
    "Frame",
    "Grid",
    "Identity",
    "NotABlackBoxError",
    "NotGuarded",
    "OutOfHeadroom",
    "OutliveError",
    "OverBudget",
    "Recording",
    "Sample",
    "Stack",
    "Totals",
    "UncaughtException",
    "Usage",
    "__version__",
    "guard",
    "headroom",
    "load_ipython_extension",
    "make_grid",
    "read",
    "retry",
    "save_image",
    "sparse",
    "unload_ipython_extension",
    "usage",
    "why",
]

# Where the names are that are not in the native module.
_HOMES = {
    "why": "_command",
    "Grid": "_grid.grid",
    "OverBudget": "_grid.over_budget",
    "make_grid": "_grid.make_grid",
    "save_image": "_grid.save_image",
    "guard": "_guard",
    "sparse": "_guard",
    "retry": "_retry",
    "Usage": "_usage",
    "headroom": "_usage",
    "usage": "_usage",
}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = _raised_class() if name == "OutOfHeadroom" else _load(name)
        globals()[name] = found
        return found

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})


def _load(name: str) -> object:
    from importlib import import_module

    return getattr(import_module(f"outlive.{_HOMES.get(name, '_native')}"), name)


def _raised_class() -> type:
    """The class of a stop. Under the guard it is made by a hook that cannot import the package."""
    for kind in MemoryError.__subclasses__():
        if (kind.__module__, kind.__qualname__) == ("outlive", "OutOfHeadroom"):
            return kind
    from outlive._out_of_headroom import OutOfHeadroom

    return OutOfHeadroom


def load_ipython_extension(ip: object) -> None:
    """Loads Outlive into an IPython shell: `%load_ext outlive`."""
    from outlive.notebook import extension

    extension.load(ip)


def unload_ipython_extension(ip: object) -> None:
    """Takes Outlive out of an IPython shell again: `%unload_ext outlive`."""
    from outlive.notebook import extension

    extension.unload(ip)
