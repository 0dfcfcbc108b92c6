"""Labels below the pictures of a grid: how much room they have, their texts and their colours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set, Sized
from itertools import islice
from typing import Any, NamedTuple

# Of the strip below a picture. Letters cannot be read below the first.
LEAST_HEIGHT = 12
LARGEST_HEIGHT = 24
# How bright red, green and blue are to the eye.
BRIGHTNESS = (0.299, 0.587, 0.114)


class Captions(NamedTuple):
    """The texts of all cells, and the value of their letters as an array (channels, 1, 1)."""

    texts: list[str]
    ink: Any

    def of_cells(self, first: int, last: int) -> Captions:
        """Those of some cells."""
        return Captions(self.texts[first:last], self.ink)

    def coverage(self, cell: int, width: int, height: int) -> bytes | None:
        """How much of each pixel of a strip is covered by letters; `None` if there are none."""
        if not self.texts[cell]:
            return None
        from outlive import _native

        return _native.text_coverage(self.texts[cell], width, height)


def height_below(picture: int) -> int:
    """Of the strip below a picture of this height."""
    return min(LARGEST_HEIGHT, max(LEAST_HEIGHT, picture // 10))


def check(labels: Any) -> None:  # noqa: ANN401
    """Refuses what has no labels in an order, before any image is looked at.

    Raises:
        TypeError: It has none.
    """
    if isinstance(labels, (Mapping, Set, bytes, bytearray)) or not isinstance(labels, Iterable):
        raise TypeError(f"labels has to be a list or an iterator of texts, got {type(labels)}")


def texts_of(labels: Any, cells: int) -> list[str]:  # noqa: ANN401
    """The texts of so many cells, empty for those without.

    Raises:
        ValueError: There are not so many labels.
    """
    labels = elements_of(labels)
    # An iterator may have no end.
    found = list(islice(iter(labels), cells + 1))
    if len(found) != cells:
        count = f"more than {cells}" if len(found) > cells else str(len(found))
        if isinstance(labels, Sized):
            count = str(len(labels))
        label = "is 1 label" if count == "1" else f"are {count} labels"
        raise ValueError(f"There {label} for {cells} images")
    return [text_of(label) for label in found]


def elements_of(labels: Any) -> Iterable[object]:  # noqa: ANN401
    """A text as a list of one, and the elements of an array as the numbers they are."""
    if isinstance(labels, str):
        return [labels]
    return labels.tolist() if hasattr(labels, "tolist") else labels  # type: ignore[no-any-return]


def no_labels_on(dtype: object) -> TypeError:
    """The error for images of which nobody knows what is black and what is white."""
    return TypeError(
        f"Labels are drawn on images of bytes or floating-point numbers, not of {dtype}"
    )


def ink_of(colour: list[Any], channels: int, white: float) -> list[float]:
    """The values of letters that can be read on a colour, one for each channel.

    Args:
        colour: The values of the padding: one for all channels, or one for each.
        channels: Of the grid.
        white: The largest value of a picture.
    """
    values = [float(value) for value in colour]
    if len(values) in (3, 4):
        brightness = sum(share * value for share, value in zip(BRIGHTNESS, values))
    else:
        brightness = values[0]
    ink = [0.0 if brightness > white / 2 else white] * channels
    if channels in (2, 4):
        # Letters that cannot be seen through.
        ink[-1] = white
    return ink


def text_of(label: object) -> str:
    """A label as it is written: names of files may have bytes that are no text."""
    return "" if label is None else str(label).encode("utf-8", "replace").decode("utf-8")
