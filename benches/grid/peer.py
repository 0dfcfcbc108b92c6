"""One contact sheet by a peer: `peer.py NAME FOLDER OUTPUT COLUMNS EFFORT`.

Each does what its documentation shows for this job, with cells of 128 pixels.
"""

from __future__ import annotations

import sys
from pathlib import Path

CELL = 128


def pyvips_sheet(paths: list[str], output: str, columns: int, effort: int) -> None:
    joined = pyvips_joined(paths, columns)
    joined.pngsave(output, compression=effort)


def pyvips_pyramid(paths: list[str], output: str, columns: int, _: int) -> None:
    joined = pyvips_joined(paths, columns)
    joined.dzsave(output, suffix=".jpg[Q=85]", tile_size=512, overlap=0)


def pyvips_joined(paths: list[str], columns: int):
    import pyvips

    cells = [pyvips.Image.thumbnail(path, CELL, height=CELL) for path in paths]
    return pyvips.Image.arrayjoin(
        cells,
        across=columns,
        shim=2,
        hspacing=CELL,
        vspacing=CELL,
        halign="centre",
        valign="centre",
    )


def pil_sheet(paths: list[str], output: str, columns: int, effort: int) -> None:
    _pil(paths, output, columns, effort, "resize")


def pil_draft_sheet(paths: list[str], output: str, columns: int, effort: int) -> None:
    _pil(paths, output, columns, effort, "thumbnail")


def _pil(paths: list[str], output: str, columns: int, effort: int, way: str) -> None:
    from PIL import Image

    pitch = CELL + 2
    rows = -(-len(paths) // columns)
    sheet = Image.new("RGB", (columns * pitch + 2, rows * pitch + 2), "white")
    for number, path in enumerate(paths):
        with Image.open(path) as image:
            if way == "thumbnail":  # asks the decoder for a smaller picture first
                image.thumbnail((CELL, CELL))
                cell = image.convert("RGB")
            else:
                factor = CELL / max(image.size)
                size = (round(image.width * factor), round(image.height * factor))
                cell = image.convert("RGB").resize(size, Image.Resampling.BICUBIC)
        sheet.paste(cell, (number % columns * pitch + 2, number // columns * pitch + 2))
    sheet.save(output, compress_level=effort)


PEERS = {
    "pyvips_sheet": pyvips_sheet,
    "pyvips_pyramid": pyvips_pyramid,
    "pil_sheet": pil_sheet,
    "pil_draft_sheet": pil_draft_sheet,
}

if __name__ == "__main__":
    name, folder, output, columns, effort = sys.argv[1:]
    paths = sorted(str(path) for path in Path(folder).iterdir())
    PEERS[name](paths, output, int(columns), int(effort))
