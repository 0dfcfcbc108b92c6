"""Outlive in Jupyter: kernels under the guard, and a verdict where people look when one dies.

Nothing here imports Jupyter until Jupyter itself asks for it.
"""

from __future__ import annotations


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    """Jupyter's name for the list of server extensions in a package."""
    return [{"module": "outlive.jupyter.server", "name": "outlive.jupyter"}]
