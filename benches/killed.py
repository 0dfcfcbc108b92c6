"""Runs a workload in this process, then ends as a process ends that the kernel kills.

Usage: `killed.py NAME [--small]`.
"""

import os
import runpy
import signal
import sys
from pathlib import Path

if __name__ == "__main__":
    script = Path(__file__).parent / "workloads" / f"{sys.argv.pop(1)}.py"
    sys.path.insert(0, str(script.parent))
    runpy.run_path(str(script), run_name="__main__")
    os.kill(os.getpid(), signal.SIGKILL)
