"""`python -m outlive`: becomes the native `outlive` program, with the same words."""

import os
import sys

from outlive._command import program


def main() -> None:
    """Replaces this process, so that signals, terminal and exit code are the program's own."""
    path = str(program())
    os.execv(path, [path, *sys.argv[1:]])


if __name__ == "__main__":
    main()
