"""Tells engineers where and why their stream-processing acks go wrong."""

__all__ = ["__version__"]

__version__ = "0.1.0"
