"""Records and outcomes as plain JSON values and back; a value of another shape raises."""

from dataclasses import fields
from typing import Any

from ackdoctor.engine.lexicon import Lexicon
from ackdoctor.engine.outcome import Outcome
from ackdoctor.engine.outline import Outline
from ackdoctor.engine.survey import Record
from ackdoctor.model.finding import Confidence, Finding, PathStep, PathWitness, Severity, Unreadable
from ackdoctor.model.source import Site, Span

__all__ = [
    "decode_lexicon",
    "decode_outcome",
    "decode_record",
    "encode_lexicon",
    "encode_outcome",
    "encode_record",
]

_FLAGS = ("named", "marked", "odd", "acts")
_UNPACKED = tuple(
    tuple(bool(flags & 1 << bit) for bit in range(len(_FLAGS))) for flags in range(1 << len(_FLAGS))
)
_FINDING = tuple(item.name for item in fields(Finding))
_STEP = tuple(item.name for item in fields(PathStep))


def encode_lexicon(lexicon: Lexicon) -> list[Any]:
    """The words, then every set in its order."""
    return [[word.decode() for word in lexicon.words], *(sorted(names) for names in lexicon[1:])]


def decode_lexicon(raw: Any) -> Lexicon:
    """The lexicon that made this value."""
    words, *sets = raw
    return Lexicon(tuple(word.encode() for word in words), *map(frozenset, sets))


def encode_record(record: Record) -> list[Any]:
    """Short for the thousands of files that concern nobody."""
    flags = sum(1 << bit for bit, name in enumerate(_FLAGS) if getattr(record, name))
    plain: list[Any] = [record.mtime_ns, record.size, flags]
    if record.outline is None and not record.digest:
        return plain
    return [*plain, record.digest, None if record.outline is None else _lists(record.outline)]


def decode_record(raw: list[Any]) -> Record:
    """The record that made this value."""
    mtime_ns, size, flags, *rest = raw
    if not flags and not rest:
        return Record(mtime_ns, size)
    named, marked, odd, acts = _UNPACKED[flags]
    digest, outline = rest or ("", None)
    known = None if outline is None else Outline(*outline)
    return Record(mtime_ns, size, named, marked, odd, acts, known, digest)


def encode_outcome(outcome: Outcome) -> list[Any]:
    """An outcome that is `lasting`."""
    unreadable = [
        [item.path, item.line, item.column, item.reason, item.partial] for item in outcome.unreadable
    ]
    return [outcome.components, unreadable, [_encode_finding(finding) for finding in outcome.findings]]


def decode_outcome(raw: list[Any]) -> Outcome:
    """The outcome that made this value."""
    components, unreadable, findings = raw
    return Outcome(
        components=components,
        unreadable=tuple(
            Unreadable(path=path, line=line, column=column, reason=why, partial=partial)
            for path, line, column, why, partial in unreadable
        ),
        findings=tuple(_decode_finding(item) for item in findings),
    )


def _lists(value: Any) -> Any:
    return [_lists(item) for item in value] if isinstance(value, tuple | list) else value


def _site(site: Site) -> list[Any]:
    return [site.path, *site.span]


def _unsite(raw: list[Any]) -> Site:
    path, *span = raw
    return Site(path, Span(*span))


def _encode_finding(finding: Finding) -> dict[str, Any]:
    steps = [
        {**{name: getattr(step, name) for name in _STEP}, "site": _site(step.site)}
        for step in finding.evidence.steps
    ]
    values = {name: getattr(finding, name) for name in _FINDING}
    return {**values, "site": _site(finding.site), "evidence": steps}


def _decode_finding(raw: dict[str, Any]) -> Finding:
    steps = tuple(PathStep(**{**step, "site": _unsite(step["site"])}) for step in raw["evidence"])
    changes = {
        "site": _unsite(raw["site"]),
        "evidence": PathWitness(steps=steps),
        "severity": Severity(raw["severity"]),
        "confidence": Confidence(raw["confidence"]),
    }
    return Finding(**{**raw, **changes})
