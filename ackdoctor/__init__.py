"""Find where and why the acks of a stream-processing topology go wrong.

Begin with `model.protocol`, the table of the acking protocol. docs/architecture.md shows the packages.

PYTEST_DONT_REWRITE: `ackdoctor trace run` imports this package before pytest, which would otherwise warn.
"""

__all__ = ["__version__"]

__version__ = "0.1.0"
