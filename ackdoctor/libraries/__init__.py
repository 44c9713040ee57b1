"""What calls of libraries mean, as data: a shared vocabulary, and one `Library` for each language."""

from collections.abc import Mapping

from ackdoctor.libraries.languages import JAVA, PYTHON
from ackdoctor.libraries.vocabulary import Library, Wait
from ackdoctor.model.dialect import Dialect

__all__ = ["LIBRARIES", "Library", "Wait", "library_of"]

LIBRARIES: Mapping[str, Library] = {"python": PYTHON, "java": JAVA}  # by `Dialect.language`


def library_of(dialect: Dialect) -> Library:
    """The library that the components of a framework use."""
    library = LIBRARIES[dialect.language]
    return library._replace(lazy=frozenset()) if dialect.python2 else library
