"""What tests ask of a tree."""

from selectolax.lexbor import LexborNode


def depth_of(node: LexborNode | None) -> int:
    """How many nodes there are from the root of the tree to this one, both included."""
    depth = 0
    while node is not None:
        node = node.parent
        depth += 1
    return depth
