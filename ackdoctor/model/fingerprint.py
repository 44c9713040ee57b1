"""What makes two findings the same defect, whatever witness saw them: no line, no path, no id."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from ackdoctor.model.finding import Finding

__all__ = ["fingerprint", "plain", "stamp"]


def fingerprint(finding: Finding) -> str:
    """The digest of what is wrong and where, free of line numbers and paths, and of the heir that shows it."""
    parts = (finding.code, finding.heritage or finding.component, finding.handler, finding.cause)
    from hashlib import blake2b  # a clean run does not pay for it

    return blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=10).hexdigest()


def stamp(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The findings with their fingerprints; the second of its kind ends in `-2`, and so on."""
    seen: Counter[str] = Counter()
    stamped = []
    for finding in findings:
        digest = fingerprint(finding)
        seen[digest] += 1
        ordinal = f"-{seen[digest]}" if seen[digest] > 1 else ""
        stamped.append(replace(finding, fingerprint=digest + ordinal))
    return tuple(stamped)


def plain(stamped: str) -> str:
    """The digest in a finding's fingerprint: the same for all of its kind."""
    return stamped.partition("-")[0]
