"""Times the body of a workload, apart from imports and exit.

The figures go to standard output as one JSON line, so that every tool around the program, whatever
it prints itself, leaves them readable.
"""

import contextlib
import json
import resource
import sys
import time
from collections.abc import Iterator


def amount(full: int, small: int) -> int:
    """How much work to do: `--small` suits an instruction counter, `--none` is all but the loop."""
    if "--none" in sys.argv[1:]:
        return 0
    return small if "--small" in sys.argv[1:] else full


@contextlib.contextmanager
def body() -> Iterator[None]:
    """Times what it encloses: seconds of wall, and of processor, reaped children included.

    Its beginning and end are told too, for who wants to look at it from outside.
    """
    started = time.monotonic()
    wall, processor = time.perf_counter(), _processor_seconds()
    yield
    figures = {
        "body_seconds": time.perf_counter() - wall,
        "body_from": started,
        "body_to": time.monotonic(),
        "body_cpu_seconds": _processor_seconds() - processor,
    }
    print(json.dumps(figures), flush=True)


def _processor_seconds() -> float:
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)
