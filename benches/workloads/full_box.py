"""Fills a black box: more code, names, stacks and frames than it has room for.

Ninety thousand functions with long names hold a block each, and a binary tree of calls makes
another hundred thousand stacks, thirty-six frames deep.
"""

from body import amount, body

#: From this size on every request is recorded by itself.
BLOCK = 140_000
KEPT: list[bytearray] = []


def made(number: int) -> None:
    """Defines and calls a function that no other one resembles, in a file of its own."""
    name = f"a_function_with_the_sort_of_name_that_generated_code_has_{number}"
    source = f"def {name}(keep):\n    keep.append(bytearray({BLOCK}))\n"
    names: dict[str, object] = {}
    exec(compile(source, f"generated/package_{number % 977}/module_{number}.py", "exec"), names)
    names[name](KEPT)


def left(depth: int) -> None:
    """One branch of the tree."""
    descend(depth)


def right(depth: int) -> None:
    """The other branch: a different frame, so a different stack."""
    descend(depth)


def descend(depth: int) -> None:
    """Every path from the root to a leaf is a stack of its own."""
    if depth == 0:
        bytearray(BLOCK)
        return
    left(depth - 1)
    right(depth - 1)


def main() -> None:
    """Keeps the last blocks alone, so that the program itself stays small."""
    with body():
        for number in range(amount(full=90_000, small=90_000)):
            made(number)
            del KEPT[:-1_000]
        descend(amount(full=17, small=17))


if __name__ == "__main__":
    main()
