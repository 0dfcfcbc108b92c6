"""Runs at the start of every Python of an environment that was set up; it waits for nbclient.

`outlive setup jupyter` copies the code below into a `.pth` file, so that nothing is looked for or
opened at a start: it imports nothing, takes a tenth of a millisecond, and must never raise.
"""

import sys

# In a virtual environment, Python runs every `.pth` file twice.
sys._outlive_waits = True  # type: ignore[attr-defined]


class OutliveWaitsForNbclient:
    """Is asked first for every module; says nothing until it is the one, and then leaves."""

    @classmethod
    def find_spec(cls, name, path=None, target=None):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN206, ARG003, D102
        if name == "nbclient.client":
            try:
                sys.meta_path.remove(cls)
                from outlive.jupyter.notebook_client import found

                return found(name)
            except Exception:
                # Outlive is no longer there, or not whole: nbclient goes on without it.
                return None
        return None


sys.meta_path.insert(0, OutliveWaitsForNbclient)
