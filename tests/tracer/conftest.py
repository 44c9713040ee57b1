"""A component's source file, and its folder."""

from pathlib import Path

import pytest

from ackdoctor.tracer.sites import Places
from tests.tracer.violations import written


@pytest.fixture
def path(tmp_path: Path) -> str:
    return written(tmp_path)


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(folder=str(tmp_path))
