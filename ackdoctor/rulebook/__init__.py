"""The rulebook: one page of `rules/` is a rule's metadata, its manual and its test cases.

Selecting rules and labelling findings needs only the heads of the pages, and `load_metadata` reads no
more than that; `load_rules` reads the pages whole.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from ackdoctor.model.errors import RulebookError
from ackdoctor.rulebook.head import read_head, trouble
from ackdoctor.rulebook.rule import Rule

if TYPE_CHECKING:
    from ackdoctor.rulebook.manual import Case, CaseFile, Expected, RulePage

__all__ = [
    "Case",
    "CaseFile",
    "Expected",
    "Rule",
    "RulePage",
    "find",
    "load_metadata",
    "load_rules",
    "locate",
    "survey",
]

R = TypeVar("R", bound=Rule)


def __getattr__(name: str) -> object:
    """The nouns that only whole pages need, imported when one of them is asked for."""
    if name in __all__:
        return getattr(import_module("ackdoctor.rulebook.manual"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def locate() -> Path:
    """The directory of the pages: inside an installed package, beside the package in a source checkout."""
    package = Path(__file__).parent.parent
    for directory in (package / "rules", package.parent / "rules"):
        if directory.is_dir():
            return directory
    raise RulebookError(f"{package.as_posix()}: the rules directory is missing; the installation is broken")


def load_rules(directory: Path | None = None) -> "dict[str, RulePage]":
    """All pages by code, sorted; the first page that does not parse raises RulebookError with page and line."""
    from ackdoctor.rulebook.page import read_page

    return _strict(_read(directory or locate(), read_page))


def load_metadata(directory: Path | None = None) -> dict[str, Rule]:
    """What the heads of the pages say, by code, sorted; as strict as `load_rules`, and cheap."""
    return _strict(_read(directory or locate(), read_head))


def survey(directory: Path | None = None) -> tuple[dict[str, Rule], tuple[RulebookError, ...]]:
    """As `load_metadata`, but pages that do not parse are handed over beside the rest, by file name."""
    return _read(directory or locate(), read_head)


def find(pages: Mapping[str, R], word: str) -> R | None:
    """The rule of that code or name, in any case."""
    wanted = word.strip()
    if wanted.upper() in pages:
        return pages[wanted.upper()]
    return next((page for page in pages.values() if page.name == wanted.lower()), None)


def _strict(outcome: tuple[dict[str, R], tuple[RulebookError, ...]]) -> dict[str, R]:
    pages, errors = outcome
    if errors:
        raise errors[0]
    return pages


def _read(directory: Path, reader: Callable[[Path], R]) -> tuple[dict[str, R], tuple[RulebookError, ...]]:
    pages: dict[str, R] = {}
    errors: list[RulebookError] = []
    try:
        files = sorted(path for path in directory.iterdir() if path.suffix == ".md" and path.stem != "README")
    except OSError as error:
        raise RulebookError(f"{directory.as_posix()}: cannot be read: {error.strerror}") from None
    for path in files:
        page = _accepted(path, reader, pages)
        if isinstance(page, RulebookError):
            errors.append(page)
        else:
            pages[page.code] = page
    return dict(sorted(pages.items())), tuple(errors)


def _accepted(path: Path, reader: Callable[[Path], R], pages: Mapping[str, R]) -> R | RulebookError:
    """The page in that file, unless it does not parse or takes a code or name that another has."""
    try:
        page = reader(path)
    except RulebookError as error:
        return error
    for other in pages.values():
        if page.code == other.code:
            return trouble(path, 1, f"{page.code} is taken by {other.path.name}")
        if page.name == other.name:
            return trouble(path, 1, f"the name {page.name} is taken by {other.path.name}")
    return page
