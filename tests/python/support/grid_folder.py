"""A small grid as `outlive grid` publishes it: page, pyramid and data, of pictures drawn here.

The page's files are the real ones; the rest follows the contract of a published folder.
"""

from __future__ import annotations

import json
import math
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from support import paths
from support.drawings import broken, drawing

PAGE = paths.REPOSITORY / "crates" / "outlive-data" / "assets" / "page"
CELL = 128
PADDING = 2
PITCH = CELL + PADDING
TILE = 4 * PITCH
CHUNK = 1000
BACKGROUND = (255, 255, 255)
FULL = (480, 360)
KINDS = ("hills", "flower", "planet", "waves", "leaf", "window")


@dataclass
class Cell:
    """One image of a grid."""

    name: str
    size: tuple = FULL
    caption: str | None = None
    problem: str | None = None
    # No picture: another cell of the sheet is as good for what is tested.
    is_drawn: bool = True


@dataclass
class GridFolder:
    """A published grid and the images it was made of."""

    root: Path
    cells: list
    columns: int
    settings: dict = field(default_factory=dict)

    @property
    def folder(self):
        """Where the page is."""
        return self.root / "grid"

    @property
    def images(self):
        """Where the images are."""
        return self.root / "images"

    def publish(self):
        """Writes everything."""
        self.images.mkdir(parents=True)
        self.folder.mkdir()
        copy_page(self.folder)
        sheet = self.draw()
        levels = write_pyramid(sheet, self.folder / "grid_files")
        self.write_data(sheet.size, levels)
        return self

    def draw(self):
        """The sheet, and on the way the images."""
        from PIL import Image

        rows = math.ceil(len(self.cells) / self.columns)
        sheet = Image.new("RGB", (self.columns * PITCH, rows * PITCH), BACKGROUND)
        for index, cell in enumerate(self.cells):
            corner = (index % self.columns * PITCH, index // self.columns * PITCH)
            if cell.problem:
                sheet.paste(broken(CELL), corner)
                continue
            if not cell.is_drawn:
                continue
            picture = drawing(KINDS[index % len(KINDS)], index, cell.size)
            picture.save(self.images / f"{index}.jpg", quality=85)
            picture.thumbnail((CELL, CELL))
            room = [(CELL - side) // 2 for side in picture.size]
            sheet.paste(picture, (corner[0] + room[0], corner[1] + room[1]))
        return sheet

    def row(self, index, cell):
        """What the page is told about a cell."""
        file = self.images / f"{index}.jpg"
        if cell.problem or not cell.is_drawn:
            return [cell.name, 17, 0, 0, cell.caption, cell.problem, ""]
        link = quote(f"../images/{file.name}")
        return [cell.name, file.stat().st_size, *cell.size, cell.caption, None, link]

    def write_data(self, size, levels):
        """The scripts with data, and the list of broken images."""
        problems = [
            [index, cell.name, cell.problem]
            for index, cell in enumerate(self.cells)
            if cell.problem
        ]
        grid = {
            "version": 1,
            "title": "drawings",
            "cells": len(self.cells),
            "columns": self.columns,
            "rows": math.ceil(len(self.cells) / self.columns),
            "pitch": PITCH,
            "cell": CELL,
            "width": size[0],
            "height": size[1],
            "tileSize": TILE,
            "format": "jpg",
            "chunk": CHUNK,
            "broken": len(problems),
            "complete": True,
            "live": False,
            **self.settings,
        }
        assert levels == math.ceil(math.log2(max(size))) + 1
        write_call(self.folder / "grid.js", "outliveGrid", grid)
        rows = [self.row(index, cell) for index, cell in enumerate(self.cells)]
        (self.folder / "cells").mkdir()
        for number in range(math.ceil(len(rows) / CHUNK)):
            part = rows[number * CHUNK : (number + 1) * CHUNK]
            write_call(self.folder / "cells" / f"{number}.js", "outliveCells", number, part)
        listed = {"total": len(problems), "cells": problems}
        write_call(self.folder / "broken.js", "outliveBroken", listed)
        lines = "".join(f"{index}\t{name}\t{problem}\n" for index, name, problem in problems)
        (self.folder / "broken.tsv").write_text(lines)


def copy_page(folder):
    """Puts the page's own files where a published grid has them."""
    (folder / "page").mkdir()
    for file in PAGE.iterdir():
        place = folder if file.name == "index.html" else folder / "page"
        shutil.copy(file, place / file.name)


def write_call(path, function, *values):
    """A script that calls a function with values."""
    shown = ", ".join(json.dumps(value).replace("<", "\\u003c") for value in values)
    path.write_text(f"{function}({shown});\n")


def write_pyramid(sheet, folder):
    """Deep Zoom levels from the full size down to one pixel; gives how many."""
    from PIL import Image

    full = math.ceil(math.log2(max(sheet.size)))
    for level in range(full, -1, -1):
        place = folder / str(level)
        place.mkdir(parents=True)
        for top in range(0, sheet.height, TILE):
            for left in range(0, sheet.width, TILE):
                right, bottom = min(left + TILE, sheet.width), min(top + TILE, sheet.height)
                name = f"{left // TILE}_{top // TILE}.jpg"
                sheet.crop((left, top, right, bottom)).save(place / name, quality=85)
        half = tuple(max(1, math.ceil(side / 2)) for side in sheet.size)
        sheet = sheet.resize(half, Image.Resampling.BOX)
    return full + 1
