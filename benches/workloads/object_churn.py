"""Plain Python: millions of small objects made, linked and dropped, and a call for each."""

from body import amount, body


class Node:
    """An object with a dictionary of its own, as most user classes have."""

    def __init__(self, number: int, rest: "Node | None") -> None:
        self.number = number
        self.rest = rest
        self.name = f"node {number}"


def chain(length: int) -> Node | None:
    """Builds a linked list: three allocations a node."""
    head = None
    for number in range(length):
        head = Node(number, head)
    return head


def total(node: Node | None) -> int:
    """Walks it with one call a node."""
    result = 0
    while node is not None:
        result += weigh(node)
        node = node.rest
    return result


def weigh(node: Node) -> int:
    """A small function with temporaries."""
    parts = {"number": node.number, "length": len(node.name)}
    return parts["number"] + sum((parts["length"], 1))


def main() -> None:
    """Repeats building and dropping; checks the sum so that nothing can be left out."""
    rounds, length = amount(full=10_000, small=100), 2_000
    expected = total(chain(length))
    with body():
        for _ in range(rounds):
            assert total(chain(length)) == expected


if __name__ == "__main__":
    main()
