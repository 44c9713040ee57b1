"""What calls of libraries mean, as data: a shared vocabulary, and one `Library` for each language."""

from collections.abc import Mapping

from ackdoctor.libraries.java import JAVA
from ackdoctor.libraries.library import Library, Wait
from ackdoctor.libraries.python import PYTHON

__all__ = ["LIBRARIES", "Library", "Wait"]

LIBRARIES: Mapping[str, Library] = {"python": PYTHON, "java": JAVA}  # by `Dialect.language`
