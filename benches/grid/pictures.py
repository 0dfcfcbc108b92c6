"""Makes the pictures of the grid benchmarks: `pictures.py FOLDER COUNT WIDTH HEIGHT QUALITY`.

Pictures like photographs in what matters to a decoder (smooth areas, edges, grain), drawn from a
fixed seed. COUNT names are hard links to at most 200 files, so that 200,000 pictures fit on a disk.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
from PIL import Image

DISTINCT = 200


def picture(seed: int, width: int, height: int) -> Image.Image:
    generator = np.random.default_rng(seed)
    # Smooth colour, a few edges, and the grain of a sensor.
    coarse = generator.uniform(0, 255, (7, 9, 3)).astype(np.uint8)
    smooth = Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC)
    pixels = np.asarray(smooth).astype(np.int16)
    for _ in range(12):
        left, right = sorted(generator.integers(0, width, 2))
        top, bottom = sorted(generator.integers(0, height, 2))
        pixels[top:bottom, left:right] += generator.integers(-60, 60, 3).astype(np.int16)
    grain = generator.normal(0, 6, (height, width, 1))
    return Image.fromarray(np.clip(pixels + grain, 0, 255).astype(np.uint8))


def main() -> None:
    folder, count, width, height, quality = Path(sys.argv[1]), *map(int, sys.argv[2:])
    distinct = min(DISTINCT, count)
    originals = folder.with_name(f"originals-{width}x{height}-{quality}")
    originals.mkdir(parents=True, exist_ok=True)
    for number in range(distinct):
        path = originals / f"{number:03}.jpg"
        if not path.exists():
            picture(number, width, height).save(path, quality=quality, subsampling="4:2:0")
    folder.mkdir(parents=True, exist_ok=True)
    have = len(os.listdir(folder))
    for number in range(have, count):
        os.link(originals / f"{number % distinct:03}.jpg", folder / f"picture-{number:06}.jpg")


if __name__ == "__main__":
    main()
