"""Loads a small image data set the way many first versions do: every decoded image is kept."""

import sys
import threading
import zlib

IMAGE_BYTES = 1024 * 1024 * 3
IMAGES = 500


def stored_images():
    """Yields compressed images, as a data set on disk would."""
    for number in range(IMAGES):
        shade = bytes([number % 251])
        yield zlib.compress(shade * IMAGE_BYTES, level=1)


def load(images):
    """Decodes the whole data set into memory."""
    for stored in stored_images():
        images.append(zlib.decompress(stored, bufsize=IMAGE_BYTES))
        if len(images) % 20 == 0:
            print(f"{len(images)} of {IMAGES} images loaded", flush=True)


def train(images):
    """Stands for the work that never starts."""
    return sum(image[0] for image in images)


def main():
    """Trains on what fits."""
    images = []
    try:
        load(images)
    except MemoryError as error:
        print(f"{type(error).__name__} after {len(images)} images", flush=True)
        print(*getattr(error, "__notes__", [error]), sep="\n")
        del images[-10:]
        print(f"going on with {len(images)} images", flush=True)
    print("loss", train(images))


def kill_at(resident_limit):
    """Ends this process with SIGKILL when it uses too much: for machines without a memory limit."""
    import os
    import signal
    import time

    page = os.sysconf("SC_PAGE_SIZE")
    while True:
        with open("/proc/self/statm", encoding="ascii") as statm:
            if int(statm.read().split()[1]) * page > resident_limit:
                os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(0.005)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        threading.Thread(target=kill_at, args=(int(sys.argv[1]),), daemon=True).start()
    main()
