"""Second completions of one tuple, sorted by what came first: shared by ACK103 to ACK106."""

from collections.abc import Iterator
from dataclasses import dataclass

from ackdoctor.checks.diagnosis import Diagnosis
from ackdoctor.flow.events import Completed, Flow, Trail
from ackdoctor.flow.state import Token, TokenKind
from ackdoctor.flow.witness import call_chain, completions, thrown_at
from ackdoctor.model.protocol import Op

__all__ = ["Repeat", "repeats"]

AUTO = (Op.AUTO_ACK, Op.AUTO_FAIL)


@dataclass(slots=True, unsafe_hash=True)
class Repeat:
    """`second` completes a tuple that `first` (None: cannot be told) had completed."""

    flow: Flow
    token: Token
    first: Trail | None
    second: Completed

    @property
    def same_site(self) -> bool:
        """Whether one and the same call completes twice, in a loop: a helper called in two places is two."""
        if self.first is None or self.first.step is not self.second.step:
            return False
        end = self.second.trail
        return call_chain(end, self.first) == call_chain(end, end)

    @property
    def automatic(self) -> bool:
        """Whether the framework is the second to complete."""
        return self.second.op in AUTO


def repeats(diagnosis: Diagnosis) -> Iterator[Repeat]:
    """Every second completion of a data tuple by code that runs in its handler, once for each pair of places."""
    seen: set[tuple[tuple[int, ...], tuple[int, ...], Op]] = set()
    for flow, second in diagnosis.sightings(Completed):
        token = second.token
        if second.breach is None or token is None or second.tick.is_system:
            continue
        if token.kind is TokenKind.STORED and diagnosis.component.auto_ack:
            continue  # told as ack-with-auto-ack
        first = next(completions(second.trail, token), None)
        end = second.trail
        at = (thrown_at(end) or end.before or end) if second.op in AUTO else end  # the framework: what leaves
        key = (call_chain(end, first) if first else (), call_chain(end, at), second.op)
        if key not in seen:
            seen.add(key)
            yield Repeat(flow, token, first, second)
