"""Outlive: what ended a Python process, with proof, and which lines held its memory."""

from outlive._command import why
from outlive._native import (
    CommandError,
    FormatTooNewError,
    Frame,
    Identity,
    NotABlackBoxError,
    OutliveError,
    Recording,
    Sample,
    Stack,
    Totals,
    UncaughtException,
    __version__,
    read,
)

__all__ = [
    "CommandError",
    "FormatTooNewError",
    "Frame",
    "Identity",
    "NotABlackBoxError",
    "OutliveError",
    "Recording",
    "Sample",
    "Stack",
    "Totals",
    "UncaughtException",
    "__version__",
    "read",
    "why",
]
