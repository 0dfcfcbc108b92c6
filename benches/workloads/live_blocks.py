"""A million objects and ten thousand larger blocks, all alive: every table of blocks is in use."""

from body import amount, body

OBJECTS: list[str] = []
BLOCKS: list[bytearray] = []


def main() -> None:
    """Fills the lists and leaves them filled."""
    thousands = amount(full=1_000, small=1_000)
    with body():
        for number in range(thousands):
            OBJECTS.extend(f"object {number} {item}" for item in range(1_000))
            BLOCKS.extend(bytearray(140_000) for _ in range(10))


if __name__ == "__main__":
    main()
