"""Anchors that are no list of tuples, recognised by what they became on the wire."""

from collections.abc import Sequence

from ackdoctor.model.dialect import Misuse
from ackdoctor.tracer.ledger.book import Book, Delivery

__all__ = ["misuse_of"]

_VALUES = 4  # after id, component, stream and task; Heron's tuples have more behind it


def misuse_of(anchors: Sequence[Delivery], book: Book) -> Misuse | None:
    """`anchors=tup.id` arrives as the characters of an id, `anchors=tup` as the five fields of a tuple."""
    if len(anchors) > 1 and all(isinstance(anchor, str) and len(anchor) == 1 for anchor in anchors):
        spelt = "".join(map(str, anchors))
        return Misuse.ANCHOR_ID if spelt in book else None
    if len(anchors) > _VALUES and isinstance(anchors[_VALUES], (tuple, list)) and anchors[0] in book:
        return Misuse.ANCHOR_SHAPE
    return None
