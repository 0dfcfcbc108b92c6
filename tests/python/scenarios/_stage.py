"""What every scenario does around its guilty lines: scale, catch, let go, finish a small job.

A scenario runs out of memory the way people do. Bare, the kernel kills it; guarded, the error that
it catches arrives and the same process goes on. Comments below its docstring are for programs:
`# cause:` of the catalogue, `# needs:` modules, `# smallest:` limit it fits into, `# bare:` how it
ends unguarded (`killed`; `worker`: a child is; `raises`: the kernel says no by itself), `# ends:`
guarded (`refusal`, `stop`, `either`), `# uncaught: no` where it is not played without a handler.
Lines that may be blamed end with `# guilty`.

`SCENARIO_LIMIT` is the limit in bytes; with `SCENARIO_CATCH=0` nothing is caught.
"""

import gc
import os
import sys

LIMIT = int(os.environ.get("SCENARIO_LIMIT", 1 << 30))


def room():
    """What the limit leaves for data, now that the libraries are loaded."""
    with open("/proc/self/status", encoding="ascii") as status:
        [anonymous] = [int(line.split()[1]) for line in status if line.startswith("RssAnon")]
    return LIMIT - anonymous * 1024


def play(work, small_job, errors=MemoryError):
    """Runs the work, which must run out of memory, and then the small job, which must not."""
    if os.environ.get("SCENARIO_CATCH") == "0":
        work()
        sys.exit("the work went through")
    try:
        work()
    except errors as error:
        told = str(error).strip().partition("\n")[0]
        print(f"caught {type(error).__name__}: {told}", flush=True)
    else:
        sys.exit("the work went through")
    # Outside the except clause: the error's traceback held the frames, and they the data.
    gc.collect()
    small_job()
    print("survived", flush=True)
