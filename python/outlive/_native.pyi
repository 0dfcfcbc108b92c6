"""Types of the Rust extension. All times are nanoseconds, all sizes bytes."""

from collections.abc import Callable
from os import PathLike
from types import TracebackType
from typing import Any

__version__: str

class OutliveError(Exception):
    """Base of all errors that Outlive raises."""

class NotABlackBoxError(OutliveError):
    """The file is not a black box."""

class FormatTooNewError(OutliveError):
    """The black box was written by a later version of Outlive."""

class CommandError(OutliveError):
    """The `outlive` command could not answer."""

# A state of the process and not a fault of anyone, so its name does not end with `Error`.
class NotGuarded(OutliveError):  # noqa: N818
    """There is no guard in this process."""

class NativeExit:
    """Base of a context manager that says in `goes_on_after` whether an error is swallowed."""

    def __new__(cls, *arguments: object, **named: object) -> NativeExit:
        """Takes any arguments; they are for the derived class."""
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        """Ends the block; what the guard posted to a block that failed already is dropped."""

class Identity:
    """Who a black box is about."""

    @property
    def pid(self) -> int:
        """Process id."""
    @property
    def ppid(self) -> int:
        """Parent's process id."""
    @property
    def start_ticks(self) -> int:
        """Start time in clock ticks since boot; with the pid it names the process for good."""
    @property
    def monotonic(self) -> int:
        """`CLOCK_MONOTONIC` when the box was made."""
    @property
    def realtime(self) -> int:
        """`CLOCK_REALTIME` at that instant."""
    @property
    def python(self) -> tuple[int, int, int] | None:
        """Version of the interpreter, `None` when none was seen."""
    @property
    def attribution(self) -> str:
        """Whether lines can be named: `on`, `pending`, `mismatch`, `unsupported`, `unknown`."""
    @property
    def forked_from(self) -> int:
        """The pid it was forked from, or 0."""
    @property
    def exe(self) -> str:
        """Executable."""
    @property
    def argv(self) -> list[str]:
        """Arguments."""
    @property
    def cwd(self) -> str:
        """Working directory."""

class Totals:
    """Sums over a process."""

    @property
    def live_bytes(self) -> int:
        """Bytes live at the end."""
    @property
    def peak_bytes(self) -> int:
        """Highest value of `live_bytes`."""
    @property
    def peak_time(self) -> int:
        """`CLOCK_MONOTONIC` of that."""
    @property
    def total_bytes(self) -> int:
        """Bytes ever acquired."""
    @property
    def total_count(self) -> int:
        """Recorded acquisitions."""
    @property
    def live_count(self) -> int:
        """Blocks live at the end."""
    @property
    def lost_events(self) -> int:
        """Events counted on the stack `other` because a table was full or busy."""
    @property
    def lost_bytes(self) -> int:
        """Bytes whose release could not be seen."""

class Frame:
    """One frame of a stack."""

    @property
    def file(self) -> str:
        """File, as the interpreter names it."""
    @property
    def line(self) -> int | None:
        """Line, when it is known."""
    @property
    def function(self) -> str:
        """Qualified name of the function."""

class Stack:
    """A stack and what it holds."""

    @property
    def kind(self) -> str:
        """What it describes: `python`, `native`, `startup`, `other` or `unknown`."""
    @property
    def frames(self) -> list[Frame]:
        """Frames, innermost first."""
    @property
    def thread(self) -> str:
        """Name of the thread, for stacks without Python frames."""
    @property
    def library(self) -> str:
        """Library that asked for the memory."""
    @property
    def live_bytes(self) -> int:
        """Bytes live at the end."""
    @property
    def estimated_bytes(self) -> int:
        """How many of the bytes live at the end are estimates."""
    @property
    def live_count(self) -> int:
        """Blocks live at the end."""
    @property
    def peak_bytes(self) -> int:
        """Highest value of `live_bytes`."""
    @property
    def at_peak_bytes(self) -> int:
        """Bytes it held when the process was at its peak."""
    @property
    def total_bytes(self) -> int:
        """Bytes ever acquired."""
    @property
    def largest(self) -> int:
        """Largest single request."""
    @property
    def exact(self) -> bool:
        """Whether every byte was counted; otherwise the figures are estimates."""

class Sample:
    """What a process used at one instant; `None` where it is not known."""

    @property
    def time(self) -> int:
        """`CLOCK_MONOTONIC`."""
    @property
    def resident(self) -> int | None:
        """Resident bytes."""
    @property
    def proportional(self) -> int | None:
        """Proportional set size."""
    @property
    def cgroup_use(self) -> int | None:
        """Use of the tightest memory cgroup, without reclaimable cache."""
    @property
    def cgroup_limit(self) -> int | None:
        """Its limit."""
    @property
    def available(self) -> int | None:
        """`MemAvailable` of the machine."""
    @property
    def swapped(self) -> int | None:
        """Swapped-out bytes."""

class UncaughtException:
    """An exception that nothing caught."""

    @property
    def kind(self) -> str:
        """Where it was seen: `main`, `thread`, `unraisable` or `unknown`."""
    @property
    def time(self) -> int:
        """`CLOCK_MONOTONIC`."""
    @property
    def tid(self) -> int:
        """Thread id."""
    @property
    def thread(self) -> str:
        """Name of the thread."""
    @property
    def type_name(self) -> str:
        """Its type."""
    @property
    def message(self) -> str:
        """Its message."""
    @property
    def traceback(self) -> list[str]:
        """One line a frame, innermost last: `file:line in function`."""

class Recording:
    """A black box: the recording of one process."""

    @property
    def version(self) -> int:
        """The format version of the file."""
    @property
    def is_complete(self) -> bool:
        """Whether the file is as long as its own table says; a shorter one gives less."""
    @property
    def identity(self) -> Identity:
        """Who the box is about."""
    @property
    def totals(self) -> Totals:
        """Sums over the process."""
    @property
    def stacks(self) -> list[Stack]:
        """All stacks, largest live bytes first."""
    @property
    def samples(self) -> list[Sample]:
        """The time line, oldest first."""
    @property
    def exceptions(self) -> list[UncaughtException]:
        """Exceptions that nothing caught, oldest first."""
    @property
    def stderr_tail(self) -> str:
        """The last bytes that went to standard error, as far as the recorder saw them."""
    @property
    def notes(self) -> list[str]:
        """What the recorder has to say about itself, oldest first."""

def read(path: str | PathLike[str]) -> Recording:
    """Reads a black box.

    Args:
        path: A `.box` file of a run's folder.

    Returns:
        The recording; of a file that was cut off, what can still be read.

    Raises:
        OSError: The file cannot be opened.
        NotABlackBoxError: The file is not a black box.
        FormatTooNewError: The box was written by a later version of Outlive.
    """

def ledger(path: str | PathLike[str]) -> dict[str, Any] | None:
    """Reads the ledger of a run that goes on, from any process.

    Args:
        path: The run's folder.

    Returns:
        The last measurement by name: `use`, `budget`, `headroom` (negative when the tree is over
        its budget), `source` (what sets the budget, in the guard's words), `limit` (`--limit` or
        `None`), `measured_ns` (`CLOCK_MONOTONIC`), and how many `refusals` and `stops` there were.
        `None` where there is no ledger, or nobody has measured yet.
    """

def hook_namespace() -> dict[str, Callable[..., Any]] | None:
    """What the hook offers to Python code.

    Returns:
        Its functions by name; `None` where no hook guards this process.
    """

def trim() -> bool:
    """Lets the C library give free memory back to the kernel.

    Returns:
        Whether there was any.
    """

def advise_huge_pages(address: int, size: int) -> None:
    """Asks for huge pages for memory that was just allocated and not touched yet.

    Args:
        address: Where it begins.
        size: How many bytes; the whole pages among them count.
    """

class PngWriter:
    """A PNG that is written row by row."""

    def __new__(cls, file: object, width: int, height: int, channels: int) -> PngWriter:
        """Writes the head of a picture of 8 bits a channel.

        Args:
            file: An object with a method `write` that takes bytes.
            width: Pixels from left to right.
            height: Pixels from top to bottom.
            channels: 1 grey, 2 grey and alpha, 3 colours, 4 colours and alpha.

        Raises:
            ValueError: There is no such PNG.
        """
    def write(self, pixels: bytes) -> None:
        """Writes more pixels; they need not be whole rows.

        Raises:
            ValueError: They are more than the picture has.
        """
    def close(self) -> None:
        """Writes the end; the file itself stays open.

        Raises:
            ValueError: Pixels are missing, or it was called before.
        """

def decode(
    path: str | PathLike[str], max_width: int, max_height: int
) -> tuple[int, int, bytearray]:
    """Decodes a picture, shrunk so that it fits.

    Args:
        path: The file; JPEG, PNG, WebP and others.
        max_width: Pixels from left to right.
        max_height: Pixels from top to bottom.

    Returns:
        Its width, its height, and 3 bytes a pixel, row after row.

    Raises:
        OSError: The file cannot be opened.
        ValueError: It is no picture, or it is damaged.
    """

def text_coverage(text: str, width: int, height: int) -> bytes:
    """Draws a line of text in the middle of a strip, with its middle left out if it is too long.

    Args:
        text: The line; letters that the font lacks are boxes.
        width: Pixels from left to right.
        height: Pixels from top to bottom, which decides the size of the letters.

    Returns:
        One byte a pixel, row after row: from 0 where no letter is to 255.

    Raises:
        MemoryError: There is no memory for so large a strip.
        UnicodeEncodeError: The text has halves of surrogate pairs.
    """

class GridSpool:
    """Cells of one size, kept in a file without a name."""

    def __new__(
        cls, cell: tuple[int, int], background: tuple[int, int, int], folder: str | PathLike[str]
    ) -> GridSpool:
        """An empty one.

        Args:
            cell: Height and width of a cell.
            background: Red, green and blue.
            folder: Where its file is.
        """
    def __len__(self) -> int: ...
    def push(self, pixels: bytes, size: tuple[int, int], name: str, caption: str | None) -> None:
        """Appends a picture, shrunk if it is larger than a cell.

        Args:
            pixels: 3 bytes a pixel, row after row.
            size: Its height and width.
            name: What it is called on a page.
            caption: A line of text.

        Raises:
            OSError: The temporary file cannot be written.
            ValueError: The pixels are not so many.
        """
    def push_file(self, path: str | PathLike[str], caption: str | None) -> None:
        """Appends a cell of a picture file, or one that says why it could not be read.

        Args:
            path: The file.
            caption: A line of text.

        Raises:
            OSError: The temporary file cannot be written.
        """
    def save(
        self,
        path: str | PathLike[str],
        columns: int | None,
        padding: int,
        caption_height: int,
        page: tuple[str, str],
    ) -> None:
        """Writes all cells that are there.

        Args:
            path: A file that ends with .png, .jpg, .webp or .zip, or a folder.
            columns: Cells in a row; `None` for a square.
            padding: Pixels between cells.
            caption_height: Of the strip below a picture.
            page: The title of a page, and an identity of this grid alone, so that nothing of
                another one is taken for its own.

        Raises:
            OSError: It cannot be written.
            OutliveError: There is no cell, or the format cannot hold so many.
            ValueError: The name is not that of a format.
        """
