"""Outlive: keeps a program alive when memory runs out, and says what ended one, with proof."""

from outlive._command import why
from outlive._guard import guard, sparse
from outlive._hook import functions as _functions
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

# Under the guard this very class is raised, by a hook that cannot import the package.
OutOfHeadroom = _functions().get("OutOfHeadroom", OutOfHeadroom)  # type: ignore[misc,assignment]

__all__ = [
    "CommandError",
    "FormatTooNewError",
    "Frame",
    "Identity",
    "NotABlackBoxError",
    "NotGuarded",
    "OutOfHeadroom",
    "OutliveError",
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
    "read",
    "retry",
    "sparse",
    "unload_ipython_extension",
    "usage",
    "why",
]


def load_ipython_extension(ip: object) -> None:
    """Loads Outlive into an IPython shell: `%load_ext outlive`."""
    from outlive.notebook import extension

    extension.load(ip)


def unload_ipython_extension(ip: object) -> None:
    """Takes Outlive out of an IPython shell again: `%unload_ext outlive`."""
    from outlive.notebook import extension

    extension.unload(ip)
