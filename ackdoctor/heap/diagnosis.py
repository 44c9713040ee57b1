"""A log or a pasted error, read: which known symptoms it has, in which components, and the innermost cause of its exceptions."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ackdoctor.heap.exceptions import Exceptions, Stack, Thrown
from ackdoctor.heap.symptoms import SYMPTOMS, Symptom
from ackdoctor.tracer.disk.put_before import bare

__all__ = ["Diagnosis", "Sign", "diagnose"]

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_LONGEST = 400
_WHOLE = 20_000  # characters of a line that are looked at: what has more is data


@dataclass(slots=True)
class Sign:
    """A symptom in the text: the line of the first, how often, the id that it names, and the exception that it is part of.

    `components` are those that it is said of, as far as the log tells, in the order in which they come.
    """

    symptom: Symptom
    line: int
    text: str
    count: int = 1
    subject: str = ""
    cause: Thrown | None = None
    components: list[str] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class Diagnosis:
    """What was found, the most telling first; `innermost` is the deepest cause of its exception, with its line.

    Where no symptom is part of an exception it is that of the first one.
    """

    signs: tuple[Sign, ...]
    innermost: str = ""
    innermost_line: int = 0
    lines: int = 0


def diagnose(lines: Iterable[str], symptoms: Sequence[Symptom] = SYMPTOMS) -> Diagnosis:
    """Looks for each symptom in each line; one that has a `frame` waits for the stack below."""
    patterns = [(each, re.compile(each.pattern)) for each in symptoms]
    found = _Found()
    thrown = Exceptions()
    number = 0
    for number, raw in enumerate(lines, start=1):
        line = _bare(raw[:_WHOLE])
        thrown.read(number, line)
        found.go_on(number, thrown)
        for symptom, pattern in patterns:
            if match := pattern.search(line):
                subject = match.groupdict().get("id") or ""
                seen = Sign(symptom, number, line.strip()[:_LONGEST], subject=subject, cause=thrown.now)
                seen.components += filter(None, [thrown.component])
                found.see(seen, thrown)
    found.settle()
    told = list(found.signs.values())
    telling = [sign for sign in told if not sign.symptom.wrapper] or told
    order = [symptom.name for symptom in symptoms]
    signs = sorted(telling, key=lambda sign: order.index(sign.symptom.name))
    innermost = next((sign.cause for sign in signs if sign.cause and sign.cause.text), thrown.first)
    return Diagnosis(
        signs=tuple(signs),
        innermost=innermost.text if innermost else "",
        innermost_line=innermost.line if innermost else 0,
        lines=number,
    )


def _bare(raw: str) -> str:
    """The line as it was written."""
    line = raw.rstrip("\r\n")
    return bare(_COLOURS.sub("", line) if "\x1b" in line else line)


class _Found:
    """The signs so far, and those that wait for the stack of their exception."""

    def __init__(self) -> None:
        self.signs: dict[str, Sign] = {}
        self._waiting: list[Sign] = []
        self._stack = Stack()  # that they wait for

    def see(self, seen: Sign, thrown: Exceptions) -> None:
        """A symptom's words."""
        if seen.symptom.frame and thrown.now is not None:
            self._waiting.append(seen)
            self._stack = thrown.stack
        elif not seen.symptom.vague:
            self._note(seen)

    def go_on(self, number: int, thrown: Exceptions) -> None:
        """The next line has been read: a stack may have ended, or an exception begun that was announced one line above."""
        if self._waiting and (thrown.now is None or thrown.stack is not self._stack):
            self.settle()
        for sign in self.signs.values():
            if sign.line == number - 1:
                sign.cause = sign.cause or thrown.now

    def settle(self) -> None:
        """No more of the stack will come."""
        waiting, self._waiting = self._waiting, []
        lines = "\n".join(self._stack.lines)
        for seen in waiting:
            if re.search(seen.symptom.frame, lines) if lines else not seen.symptom.vague:
                self._note(seen)

    def _note(self, seen: Sign) -> None:
        known = self.signs.setdefault(seen.symptom.name, seen)
        if known is not seen:
            known.count += 1
            known.components += [each for each in seen.components if each not in known.components]
