"""A log or a pasted error, read: which known symptoms it has, and the innermost cause of its exceptions."""

import re
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ackdoctor.heap.symptoms import SYMPTOMS, Symptom

__all__ = ["Diagnosis", "Sign", "diagnose"]

_CAUSED = re.compile(r"^\s*Caused by: (?P<what>.+)")
_THROWN = re.compile(r"(?:^|\s)(?P<what>(?:[a-z_][\w$]*\.)+[A-Z][\w$]*(?:Exception|Error|Throwable)\b.*)")
_FRAME = re.compile(r"^\s+at [\w$.<>/]+\(|^\s*\.\.\. \d+ (?:more|common frames)")
_TRACEBACK = "Traceback (most recent call last)"
_WINDOW = 40  # lines that one symptom may span
_LONGEST = 400


@dataclass(slots=True)
class Sign:
    """A symptom in the text: the line of the first, how often, and the id that it names."""

    symptom: Symptom
    line: int
    text: str
    count: int = 1
    subject: str = ""


@dataclass(slots=True, kw_only=True)
class Diagnosis:
    """What was found, the most telling first; `innermost` is the last exception's deepest cause, with its line."""

    signs: tuple[Sign, ...]
    innermost: str = ""
    innermost_line: int = 0
    lines: int = 0


class _Causes:
    """Follows exceptions through `Caused by` and tracebacks; the deepest cause of the first one is kept."""

    def __init__(self) -> None:
        self.text, self.line = "", 0
        self._within = self._python = False

    def read(self, number: int, line: str) -> None:
        """One line; a block ends where neither a frame nor a cause follows."""
        if found := _CAUSED.match(line):
            self._keep(number, found["what"])
        elif _TRACEBACK in line:
            self._python = not self.text
        elif self._python and line[:1].strip():
            self._keep(number, line)
            self._python = False
        elif _FRAME.match(line):
            return
        elif not self.text and (found := _THROWN.search(line)):
            self._within = True
            self._keep(number, found["what"])
        else:
            self._within = False

    def _keep(self, number: int, what: str) -> None:
        if self._within or not self.text:
            self._within = True
            self.text, self.line = what.strip()[:_LONGEST], number


def diagnose(lines: Iterable[str], symptoms: Sequence[Symptom] = SYMPTOMS) -> Diagnosis:
    """Looks for each symptom in each line; those that span lines in a window of forty."""
    simple = [(each, re.compile(each.pattern)) for each in symptoms if "(?s:" not in each.pattern]
    spanning = [(each, re.compile(each.pattern)) for each in symptoms if "(?s:" in each.pattern]
    found: dict[str, Sign] = {}
    window: deque[str] = deque(maxlen=_WINDOW)
    causes = _Causes()
    number = 0
    for number, raw in enumerate(lines, start=1):
        line = raw.rstrip("\r\n")
        causes.read(number, line)
        for symptom, pattern in simple:
            if match := pattern.search(line):
                _note(found, symptom, match, number, line)
        window.append(line)
        if spanning and _may_span(line):
            text = "\n".join(window)
            for symptom, pattern in spanning:
                if symptom.name not in found and (match := pattern.search(text)):
                    _note(found, symptom, match, number, line)
    told = list(found.values())
    telling = [sign for sign in told if not sign.symptom.wrapper] or told
    order = [symptom.name for symptom in symptoms]
    return Diagnosis(
        signs=tuple(sorted(telling, key=lambda sign: order.index(sign.symptom.name))),
        innermost=causes.text,
        innermost_line=causes.line,
        lines=number,
    )


def _may_span(line: str) -> bool:
    return "Exception" in line or line.lstrip().startswith("at ")


def _note(found: dict[str, Sign], symptom: Symptom, match: "re.Match[str]", number: int, line: str) -> None:
    known = found.get(symptom.name)
    if known is not None:
        known.count += 1
        return
    subject = match.groupdict().get("id") or ""
    found[symptom.name] = Sign(symptom, number, line.strip()[:_LONGEST], subject=subject)
