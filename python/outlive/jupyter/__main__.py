"""`python -m outlive.jupyter setup|doctor`: what `outlive setup jupyter` and `doctor` call."""

from __future__ import annotations

import argparse
import sys

from outlive.jupyter import doctor, environment, setup


def main(words: list[str] | None = None) -> int:
    """Does what the words say.

    Args:
        words: The arguments; those of the process by default.

    Returns:
        The exit code: 0 if all is well, 1 if not.
    """
    arguments = _parser().parse_args(words)
    try:
        if arguments.task == "doctor":
            return doctor.report(environment.here(), arguments.format)
        do = setup.undo if arguments.undo else setup.set_up
        print("\n".join(do(environment.here(), arguments.dry_run)))
    except environment.UnsuitableError as error:
        print(error, file=sys.stderr)
        return 1
    except OSError as error:
        print(f"Cannot use `{error.filename}`: {error.strerror}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="outlive", allow_abbrev=False)
    tasks = parser.add_subparsers(dest="task", required=True)
    set_up = tasks.add_parser("setup", help="put Outlive into this environment's Jupyter")
    set_up.add_argument("--undo", action="store_true", help="take it out again")
    set_up.add_argument("--dry-run", action="store_true", help="only say what would be done")
    check = tasks.add_parser("doctor", help="check every piece of the set-up")
    check.add_argument("--format", choices=("text", "json"), default="text")
    return parser


if __name__ == "__main__":
    sys.exit(main())
