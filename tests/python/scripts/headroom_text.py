"""Runs the text of the exception as the hook does, where nobody can import the package.

Prints what arrives from a worker process and what a pickle of the class and of an instance gives.
"""

import multiprocessing
import pickle
import sys
from pathlib import Path

namespace = {"__name__": "outlive_text"}
facts = {
    "requested": None,
    "headroom": 5 << 20,
    "budget": 2 << 30,
    "source": "--limit",
    "holders": [(1 << 30, "train.py:22 in load")],
}
if sys.argv[2] == "facts":
    namespace["_facts"] = lambda: facts
if sys.argv[2] == "broken":
    namespace["_facts"] = lambda: 1 / 0
exec(compile(Path(sys.argv[1]).read_text(encoding="utf-8"), sys.argv[1], "exec"), namespace)
OutOfHeadroom = namespace["OutOfHeadroom"]


def fail(_):
    raise OutOfHeadroom


try:
    import outlive
except ImportError:
    pass
else:
    sys.exit(f"{outlive} can be imported")

error = OutOfHeadroom()
assert isinstance(error, MemoryError)
print(error)
print("--")
for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
    copy = pickle.loads(pickle.dumps(error, protocol))
    assert (type(copy), str(copy)) == (MemoryError, str(error)), copy
    assert pickle.loads(pickle.dumps(OutOfHeadroom, protocol)) is MemoryError
with multiprocessing.get_context("fork").Pool(1) as pool:
    try:
        pool.map(fail, [0])
    except MemoryError as arrived:
        print(type(arrived).__name__, str(arrived) == str(error))
