"""Becomes a user without rights, then the command on its command line."""

import os
import sys

os.setgroups([])
os.setgid(65534)
os.setuid(65534)
os.execv(sys.argv[1], sys.argv[1:])
