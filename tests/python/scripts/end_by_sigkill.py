"""Run inside another victim: ends it by SIGKILL."""

import os
import signal

os.kill(os.getpid(), signal.SIGKILL)
