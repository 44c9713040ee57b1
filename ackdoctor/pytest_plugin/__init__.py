"""`pytest --ackdoctor`: a test fails if a tuple was not completed exactly once."""

import pytest

__all__ = ["pytest_addoption"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of the plugin."""
    parser.getgroup("ackdoctor", "acking of stream components")
