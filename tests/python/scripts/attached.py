"""Puts the hook into this interpreter while it runs, then runs another script in it.

Arguments: the script and its arguments. Frameworks that `ATTACHED_AFTER` names are imported first.
"""

import importlib
import os
import runpy
import sys

for name in filter(None, os.environ.get("ATTACHED_AFTER", "").split(",")):
    importlib.import_module(name)

import outlive  # noqa: E402

outlive.guard("100%")
del sys.argv[0]
sys.path.insert(0, os.path.dirname(sys.argv[0]))
runpy.run_path(sys.argv[0], run_name="__main__")
