"""What a reader of YAML could not decide, and what is wrong with its file."""

import re
from dataclasses import dataclass, field

from ackdoctor.model.topology import Defect, Gap, Place
from ackdoctor.topology.marked_yaml import Document

_NAME = re.compile(r"(?m)^name *: *[\"']?([^\"'#\n]+)")


@dataclass(slots=True)
class Faults:
    """The gaps and defects of one topology."""

    gaps: list[Gap] = field(default_factory=list, kw_only=True)
    defects: list[Defect] = field(default_factory=list, kw_only=True)

    def defect(
        self, kind: str, place: Place, why: str, component: str = "", *, sure: str = "certain"
    ) -> None:
        """Add a defect."""
        self.defects.append(Defect(kind=kind, sure=sure, place=place, why=why, component=component))

    def take(self, document: Document) -> None:
        """Add what is open in a document, and its keys that occur twice."""
        self.gaps.extend(document.gaps)
        for twice in document.duplicates:
            why = f"`{twice.key}` is in line {twice.first} as well: the later one wins without a word"
            self.defect("duplicate-key", Place(document.root.place.path, twice.line), why)


def name_in(data: bytes) -> str:
    """The name of the topology in a text that does not parse; "" if none is seen."""
    name = _NAME.search(data.decode("utf-8", "replace"))
    return name[1].strip() if name else ""
