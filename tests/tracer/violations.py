"""Violations as a run would report them, over one small file of bolts."""

from pathlib import Path

from ackdoctor.model.dialect import Misuse
from ackdoctor.model.finding import Confidence, Finding, TreeWitness
from ackdoctor.model.trace import (
    Access,
    AccessKind,
    CallSite,
    Culprit,
    PendingEntry,
    Residue,
    TracedComponent,
    TupleTree,
    Verdict,
    Violation,
)

__all__ = [
    "SOURCE",
    "call",
    "culprit",
    "framework",
    "orphan",
    "pending",
    "summary",
    "touch",
    "traced",
    "tree",
    "violation",
    "written",
]

SOURCE = """from pystorm import Bolt


class SqlBolt(Bolt):
    auto_ack = False

    def process(self, tup):
        for statement in tup.values:
            self.run_sql(statement)
            self.ack(tup)
        self.fail(tup)
        self.emit([1])
"""


def written(folder: Path) -> str:
    """The file, in that folder."""
    path = folder / "sql.py"
    path.write_text(SOURCE, encoding="utf-8")
    return str(path)


def traced(path: str, **changes: object) -> TracedComponent:
    values: dict[str, object] = {
        "name": "SqlBolt",
        "dialect": "pystorm",
        "role": "Bolt",
        "path": path,
        "line": 4,
        **changes,
    }
    return TracedComponent(**values)  # type: ignore[arg-type]


def call(path: str, line: int, function: str = "SqlBolt.process") -> CallSite:
    return CallSite(path, line, function)


def framework(function: str = "Bolt._run") -> CallSite:
    return CallSite("/site/pystorm/bolt.py", 200, function, framework=True)


def touch(kind: AccessKind, site: CallSite | None = None, **more: object) -> Access:
    return Access(kind=kind, site=site, **{"entry": 1, **more})  # type: ignore[arg-type]


def violation(misuse: Misuse, who: TracedComponent, *accesses: Access, **more: object) -> Violation:
    values: dict[str, object] = {"handler": "process", "delivery": "7", **more}
    return Violation(misuse=misuse, traced=who, history=(touch(AccessKind.RECEIVED), *accesses), **values)  # type: ignore[arg-type]


def summary(finding: Finding) -> str:
    severity = finding.severity.word + (" (may)" if finding.confidence is Confidence.MAY else "")
    return f"{finding.site}: {severity} {finding.code} {finding.name} {finding.message}"


def tree(finding: Finding) -> TreeWitness:
    assert isinstance(finding.evidence, TreeWitness)
    return finding.evidence


def orphan(root: int, value: int, *culprits: Culprit, verdict: Verdict = Verdict.COMPLETE) -> TupleTree:
    entry = PendingEntry(root=root, value=value, task=None)
    return TupleTree(root=root, verdict=verdict, entry=entry, residue=Residue.EVEN, culprits=culprits)


def pending(root: int, value: int, *culprits: Culprit, verdict: Verdict = Verdict.EXPIRED) -> TupleTree:
    entry = PendingEntry(root=root, value=value, task=3)
    return TupleTree(root=root, verdict=verdict, entry=entry, residue=Residue.EVEN, culprits=culprits)


def culprit(acks: int, *sites: str, delivery: str = "7", component: str = "sql") -> Culprit:
    return Culprit(delivery=delivery, component=component, task=4, value=3, acks=acks, sites=sites)
