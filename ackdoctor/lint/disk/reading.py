"""Reads a file's bytes, for the engine, and says which bytes they are."""

from hashlib import blake2b

from ackdoctor.model.reading import read_file

__all__ = ["digest_of", "read_file"]


def digest_of(data: bytes) -> str:
    """A digest that no other bytes have."""
    return blake2b(data, digest_size=20).hexdigest()
