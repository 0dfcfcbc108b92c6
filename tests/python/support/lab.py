"""A folder to run victims in: bare, with the hook alone, or under `outlive run`."""

import json
import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import outlive
from support import paths

# The least there is: every box of a test is written to disk, and 300 of them add up.
BOX_SIZE = 4 << 20
# Nothing here takes longer unless it hangs.
PATIENCE_SECONDS = 120


@dataclass(frozen=True)
class Ended:
    """How a victim ended: the wait status as `subprocess` gives it, and what it wrote."""

    returncode: int
    stdout: bytes
    stderr: bytes


@dataclass
class Lab:
    """Runs victims; all they leave behind lies under `folder`."""

    folder: Path
    environment: dict = field(default_factory=dict)

    @property
    def run_folder(self):
        """Where the hook puts boxes when there is no supervisor."""
        return self.folder / "boxes"

    @property
    def home(self):
        """`$OUTLIVE_HOME`."""
        return self.folder / "home"

    def bare(self, *command, **options):
        """Runs a command without Outlive."""
        return self._finish(command, self.plain_environment(), options)

    def hooked(self, *command, **options):
        """Runs a command with the hook and without a supervisor."""
        return self._finish(command, self.hooked_environment(), options)

    def supervised(self, *command, quiet=True, box_size=BOX_SIZE, flags=(), **options):
        """Runs a command under `outlive run`."""
        words = [paths.program(), "run", f"--box-size={box_size}", *(["--quiet"] if quiet else [])]
        words += flags
        return self._finish([*words, "--", *command], self.plain_environment(), options)

    def hooked_environment(self):
        """The variables that `outlive run` would set."""
        self.run_folder.mkdir(exist_ok=True)
        preload = ":".join(filter(None, [str(paths.hook()), self.environment.get("LD_PRELOAD")]))
        ours = {
            "LD_PRELOAD": preload,
            "OUTLIVE_RUN_DIR": str(self.run_folder),
            "OUTLIVE_BOX_SIZE": str(BOX_SIZE),
        }
        return {**self.plain_environment(), **ours}

    def boxes(self):
        """The boxes of hooked runs, oldest first."""
        recordings = [outlive.read(path) for path in self.run_folder.glob("*.box")]
        return sorted(recordings, key=lambda recording: recording.identity.monotonic)

    def box(self):
        """The only box."""
        [recording] = self.boxes()
        return recording

    def why(self, run="last"):
        """What `outlive why` says about a supervised run."""
        asked = self._finish(
            [paths.program(), "why", run, "--format", "json"], self.plain_environment(), {}
        )
        assert asked.returncode == 0, asked.stderr.decode()
        return json.loads(asked.stdout)

    def plain_environment(self):
        """The variables of a victim without the hook, and of `outlive` itself."""
        kept = {key: value for key, value in os.environ.items() if not key.startswith("OUTLIVE_")}
        kept.pop("LD_PRELOAD", None)
        # Victims are compared with and without the hook: no seed, no cache may differ.
        fixed = {
            "OUTLIVE_HOME": str(self.home),
            "OUTLIVE_HOOK_LIBRARY": str(paths.hook()),
            "PYTHONHASHSEED": "0",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        return {**kept, **fixed, **self.environment}

    def _finish(self, command, environment, options):
        finished = subprocess.run(
            [str(word) for word in command],
            env={**environment, **options.pop("env", {})},
            capture_output=True,
            cwd=options.pop("cwd", self.folder),
            timeout=options.pop("timeout", PATIENCE_SECONDS),
            check=False,
            **options,
        )
        return Ended(finished.returncode, finished.stdout, finished.stderr)


def holders_of(recording, size, slack=64):
    """The stacks whose largest request was `size` (Python adds a few bytes to what one asks)."""
    return [stack for stack in recording.stacks if size <= stack.largest < size + slack]


def marked_lines(script):
    """Lines of a script that end with `# mark: NAME`, by name."""
    lines = Path(script).read_text(encoding="utf-8").splitlines()
    marks = [(text.rpartition("# mark: "), number) for number, text in enumerate(lines, 1)]
    return {mark[2]: number for mark, number in marks if mark[1]}
