"""Which of several files of one name is meant: the one that shares most folders with who asks."""

__all__ = ["shared"]


def shared(one: tuple[str, ...], other: tuple[str, ...]) -> int:
    """How many leading folders two paths share."""
    count = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        count += 1
    return count
