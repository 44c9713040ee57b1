"""Tells engineers where and why their stream-processing acks go wrong.

The heart is `model.protocol`: what a tuple is owed.  `cli` has a module for each command; which package may import which is
a picture in DESIGN.md, "The house".

PYTEST_DONT_REWRITE: below `ackdoctor trace run` we are imported before pytest, which would warn of that.
"""

__all__ = ["__version__"]

__version__ = "0.1.0"
