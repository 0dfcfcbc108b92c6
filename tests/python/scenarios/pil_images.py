"""Opens every picture of an album at full size, and keeps them."""
# cause: results_kept_in_loop
# needs: PIL
# smallest: 512MiB
# bare: killed
# ends: either

from _stage import LIMIT, play
from PIL import Image


def work():
    photo = Image.linear_gradient("L")
    album = []
    for _ in range(2 * LIMIT // (3000 * 2000 * 4)):
        album.append(photo.resize((3000, 2000)).convert("RGB"))  # guilty
    print(len(album))


def small_job():
    photo = Image.new("RGB", (100, 100), "white").resize((50, 50))
    assert photo.getpixel((25, 25)) == (255, 255, 255)


play(work, small_job)
