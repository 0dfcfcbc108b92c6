"""Splits a large text into words: one call, and an object for every word."""
# cause: oversized_tensor
# needs:
# smallest: 512MiB
# bare: killed
# ends: either

from _stage import LIMIT, play


def work():
    # A word of four letters takes 5 bytes in the text, and 64 as an object in a list.
    text = "word " * (2 * LIMIT // 64)
    words = text.split()  # guilty
    print(len(words))


def small_job():
    assert len("a few words".split()) == 3


play(work, small_job)
