"""`@pytest.mark.ackdoctor(...)`: what a test asks for; keyword by keyword, the nearest of its marks wins."""

from dataclasses import replace
from typing import Any

import pytest

from ackdoctor.pytest_plugin.options import OPTIONS, Options, parse

__all__ = ["MARK", "NAME", "asked"]

NAME = "ackdoctor"  # of the mark and of the fixture
_KEYWORDS = tuple(name for name, spec in OPTIONS.items() if spec.marker)
MARK = f"{NAME}({', '.join(f'{keyword}=' for keyword in _KEYWORDS)}): trace this test's components"


def asked(item: pytest.Item, session: Options) -> Options | None:
    """What the test is to be traced with; None if nobody, neither session nor mark nor fixture, asks for it.

    UsageError for a mark that cannot be meant.
    """
    marks = list(item.iter_markers(NAME))
    if not marks and NAME not in getattr(item, "fixturenames", ()):
        return session if session.level != "off" else None
    wanted: dict[str, Any] = {"level": session.level if session.level != "off" else "sites"}
    for mark in reversed(marks):  # the nearest last
        wanted.update(_checked(mark, item.nodeid))
    return replace(session, **wanted) if wanted["level"] != "off" else None


def _checked(mark: pytest.Mark, test: str) -> dict[str, object]:
    where = f"{test}: @pytest.mark.{NAME}"
    if mark.args:
        raise pytest.UsageError(f"{where}: takes keywords only: {', '.join(_KEYWORDS)}")
    for keyword in mark.kwargs:
        if keyword not in _KEYWORDS:
            raise pytest.UsageError(f"{where}: unknown keyword `{keyword}`; it takes {', '.join(_KEYWORDS)}")
    return {keyword: parse(keyword, value, f"{where}: {keyword}") for keyword, value in mark.kwargs.items()}
