"""Holds one block of a size of its own at every kind of line; `sizes` tells them apart."""

import asyncio
import functools
import os
import sys

# Sizes that nothing else asks for.
BASE = 7_340_033
STEP = 16_411
NAMES = [
    "plain",
    "comprehension",
    "nested_comprehension",
    "generator",
    "generator_expression",
    "coroutine",
    "decorated",
    "lambda",
    "multi_line_call",
    "multi_line_argument",
    "method",
    "exécuté",
    "exec",
    "finally",
    "loop",
    "with",
    "deep",
    "after_long_table",
]
SIZES = {name: BASE + STEP * (place + 1) for place, name in enumerate(NAMES)}
kept = []


def take(size):
    """A helper whose own line is always the same, so that callers are told apart by frame 1."""
    return bytearray(size)  # mark: take


def plain():
    kept.append(bytearray(SIZES["plain"]))  # mark: plain


def comprehension():
    kept.extend(
        [
            bytearray(SIZES["comprehension"])  # mark: comprehension
            for _ in range(1)
        ]
    )
    size = SIZES["nested_comprehension"]
    kept.extend([[bytearray(size) for _ in "x"] for _ in "x"])  # mark: nested_comprehension


def blocks():
    yield None
    yield bytearray(SIZES["generator"])  # mark: generator


def generators():
    kept.extend(blocks())
    kept.extend(bytearray(SIZES["generator_expression"]) for _ in "x")  # mark: generator_expression


async def coroutine():
    await asyncio.sleep(0)
    kept.append(bytearray(SIZES["coroutine"]))  # mark: coroutine


def decorator(function):
    @functools.wraps(function)
    def wrapper(*arguments):
        return function(*arguments)

    return wrapper


@decorator
@decorator
def decorated():
    kept.append(bytearray(SIZES["decorated"]))  # mark: decorated


def lambdas():
    make = (lambda: lambda size: bytearray(size))()  # mark: lambda
    kept.append(make(SIZES["lambda"]))


def multi_line():
    kept.append(
        take(  # mark: multi_line_call
            SIZES["multi_line_call"],
        )
    )
    kept.append(
        max(
            b"",
            bytearray(  # mark: multi_line_argument
                SIZES["multi_line_argument"]
            ),
        )
    )


class Holder:
    def __init__(self):
        self.block = bytearray(SIZES["method"])  # mark: method


def exécuté():
    kept.append(bytearray(SIZES["exécuté"]))  # mark: exécuté


def executed():
    source = "\n\nkept.append(bytearray(SIZES['exec']))\n"
    exec(compile(source, "<made up>", "exec"), globals())


def blocks_of_code():
    try:
        pass
    finally:
        kept.append(bytearray(SIZES["finally"]))  # mark: finally
    for _ in range(1):
        kept.append(bytearray(SIZES["loop"]))  # mark: loop
    with memoryview(b""):
        kept.append(bytearray(SIZES["with"]))  # mark: with


def deep(levels):
    if levels:
        return deep(levels - 1)  # mark: recursion
    return kept.append(bytearray(SIZES["deep"]))  # mark: deep


def write_long_function():
    """A function whose line table is longer than any written by hand."""
    body = "".join(f"    x = {number} + len(kept)\n" for number in range(3000))
    source = f"def long_one():\n{body}    kept.append(bytearray(SIZES['after_long_table']))\n"
    exec(compile(source, "<long>", "exec"), globals())


def main():
    plain()
    comprehension()
    generators()
    asyncio.run(coroutine())
    decorated()
    lambdas()
    multi_line()
    kept.append(Holder())
    exécuté()
    executed()
    blocks_of_code()
    deep(150)
    write_long_function()
    long_one()  # noqa: F821
    sys.stdout.flush()
    os._exit(0)  # everything is still held


if __name__ == "__main__":
    main()
