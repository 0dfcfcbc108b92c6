"""Contact sheets: images per processor second beside pyvips, PIL and montage, and peak memory.

Prints, as its last line, values by name as JSON. Ratios are ours over theirs, of one round.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

from outing import measure

HERE = Path(__file__).parent
# At equal effort: zlib's level, and no filter, which is what libvips writes unless told.
EFFORTS = (1, 6)
COMPARED = 1000
# A grid of more pictures takes minutes, and is made once.
MANY = 50_000
LARGE = 40
# Quality of the large pictures, and how large that makes them: a decoder's time goes with both.
LARGE_QUALITIES = {80: "1.7 MB", 95: "4.9 MB"}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--outlive", required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--counts", default="1000,20000,200000")
    options = parser.parse_args()
    bench = Bench(options.outlive, options.folder)
    for round_number in range(options.rounds):
        print(f"round {round_number + 1}", file=sys.stderr)
        bench.compare()
        bench.compare_large()
    for count in map(int, options.counts.split(",")):
        bench.peak(count)
    print(json.dumps(bench.values))


class Bench:
    def __init__(self, outlive: str, folder: Path) -> None:
        self.outlive, self.folder = outlive, folder
        self.values: defaultdict[str, list[float]] = defaultdict(list)

    def pictures(self, count: int, width: int, height: int, quality: int = 95) -> Path:
        folder = self.folder / f"pictures-{width}x{height}-{quality}-{count}"
        words = [folder, count, width, height, quality]
        subprocess.run([sys.executable, HERE / "pictures.py", *map(str, words)], check=True)
        return folder

    def ours(self, pictures: Path, output: str, *words: str):
        target = self.folder / output
        command = [self.outlive, "grid", str(pictures), "-o", f"{target}", "--quiet", *words]
        if output.endswith("/"):
            command[command.index("-o") + 1] += "/"
        return measure(command, target)

    def theirs(self, name: str, pictures: Path, output: str, columns: int, effort: int = 6):
        target = self.folder / output
        words = [name, pictures, target, columns, effort]
        return measure([sys.executable, str(HERE / "peer.py"), *map(str, words)], target)

    def note(self, name: str, ours, theirs) -> None:
        self.values[f"{name}, processor time"].append(ours.processor / theirs.processor)
        self.values[f"{name}, time"].append(ours.seconds / theirs.seconds)
        self.values[f"{name}, peak"].append(ours.peak / theirs.peak)
        self.values[f"{name}, their peak"].append(theirs.peak)

    def compare(self) -> None:
        pictures = self.pictures(COMPARED, 500, 375)
        columns = math.ceil(math.sqrt(COMPARED))
        words = ("--columns", str(columns))
        for effort in EFFORTS:
            ours = self.ours(pictures, "ours.png", "--effort", str(effort), *words)
            theirs = self.theirs("pyvips_sheet", pictures, "theirs.png", columns, effort)
            self.note(f"pyvips arrayjoin, effort {effort}", ours, theirs)
            if effort == 6:
                theirs = self.theirs("pil_sheet", pictures, "theirs.png", columns, effort)
                self.note("PIL", ours, theirs)
                self.montage(pictures, ours, columns)
        ours = self.ours(pictures, "ours/", *words)
        theirs = self.theirs("pyvips_pyramid", pictures, "theirs", columns)
        self.note("pyvips dzsave", ours, theirs)

    def montage(self, pictures: Path, ours, columns: int) -> None:
        if shutil.which("montage") is None:
            return
        target = self.folder / "theirs.png"
        paths = sorted(map(str, pictures.iterdir()))
        geometry = ["-geometry", "128x128+1+1", "-tile", f"{columns}x"]
        # zlib's level 6 and no filter.
        effort = ["-quality", "60"]
        command = ["montage", "-define", "jpeg:size=256x256", *paths, *geometry, *effort]
        policy = str(HERE / "imagemagick")
        theirs = measure([*command, str(target)], target, MAGICK_CONFIGURE_PATH=policy)
        self.note("ImageMagick montage", ours, theirs)

    def compare_large(self) -> None:
        for quality, size in LARGE_QUALITIES.items():
            pictures = self.pictures(LARGE, 4000, 3000, quality)
            ours = self.ours(pictures, "ours.png", "--effort", "6")
            for name, told in [("pil_sheet", "resize"), ("pil_draft_sheet", "thumbnail")]:
                theirs = self.theirs(name, pictures, "theirs.png", 7)
                self.note(f"12 megapixels of {size}, PIL {told}", ours, theirs)

    def peak(self, count: int) -> None:
        pictures = self.pictures(count, 500, 375)
        for output, told in [("ours.png", "flat"), ("ours/", "pyramid")]:
            for _ in range(1 if count > MANY else 3):
                print(f"{count} {told}", file=sys.stderr)
                ours = self.ours(pictures, output)
                self.values[f"{told} of {count}, peak"].append(ours.peak)
                self.values[f"{told} of {count}, images a second"].append(count / ours.seconds)


if __name__ == "__main__":
    main()
