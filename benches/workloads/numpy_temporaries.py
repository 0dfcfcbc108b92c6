"""NumPy: arithmetic whose temporaries are 1 to 8 MiB, each allocated and dropped at once."""

import numpy

from body import amount, body

MEBIBYTE = 1 << 20


def main() -> None:
    """Cycles through sizes, so that the allocator sees both new and repeated ones."""
    rounds = amount(full=440, small=2)
    arrays = [numpy.full(size * MEBIBYTE // 8, 0.5) for size in range(1, 9)]
    with body():
        result = 0.0
        for number in range(rounds):
            for array in arrays:
                product = array * array + number
                shifted = (product - array) / 2.0
                result += float((shifted + product)[0])
        assert (result > 0.0) == (rounds > 0)


if __name__ == "__main__":
    main()
