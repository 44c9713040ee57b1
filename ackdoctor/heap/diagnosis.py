"""A log or a pasted error, read: which known symptoms it has, and the innermost cause of its exceptions."""

import re
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ackdoctor.heap.symptoms import SYMPTOMS, Symptom
from ackdoctor.tracer.disk.put_before import bare

__all__ = ["Diagnosis", "Sign", "diagnose"]

_CAUSED = re.compile(r"^\s*Caused by: (?P<what>.+)")
_THROWN = re.compile(r"(?:^|\s)(?P<what>(?:[a-z_][\w$]*\.)+[A-Z][\w$]*(?:Exception|Error|Throwable)\b.*)")
_FRAME = re.compile(r"^\s+at [\w$.<>/]+\(|^\s*\.\.\. \d+ (?:more|common frames)|^\s+Suppressed: ")
_TRACEBACK = "Traceback (most recent call last)"
_CHAINED = re.compile(
    r"^(?:During handling of the above exception, another|The above exception was the direct cause)"
)
_WINDOW = 40  # lines that one symptom may span
_LONGEST = 400


@dataclass(slots=True)
class Cause:
    """The deepest cause of one exception, as far as it has been read, with its line; of a traceback '' until its end."""

    text: str
    line: int


@dataclass(slots=True)
class Sign:
    """A symptom in the text: the line of the first, how often, the id that it names, and the exception that it is part of."""

    symptom: Symptom
    line: int
    text: str
    count: int = 1
    subject: str = ""
    cause: Cause | None = None


@dataclass(slots=True, kw_only=True)
class Diagnosis:
    """What was found, the most telling first; `innermost` is the deepest cause of its exception, with its line.

    Where no symptom is part of an exception it is that of the first one.
    """

    signs: tuple[Sign, ...]
    innermost: str = ""
    innermost_line: int = 0
    lines: int = 0


class _Causes:
    """Follows exceptions through `Caused by` and tracebacks.

    An exception ends where neither a frame nor a cause follows; what is logged, and the throwable that the logger
    prints on the next line, are one.
    """

    def __init__(self) -> None:
        self.first: Cause | None = None
        self.now: Cause | None = None  # the one that is being read
        self._last: Cause | None = None
        self._python = self._chained = False

    def read(self, number: int, line: str) -> None:
        """One line."""
        if found := _CAUSED.match(line):
            self._keep(number, found["what"], self._last)
            self._python = _TRACEBACK in line
        elif _TRACEBACK in line:
            self.now = self._last if self._chained else self.now or Cause("", number)
            self._python, self._chained = not self._chained, False
        elif self._python and line[:1].strip():
            self._keep(number, line, self.now)
            self._python = False
        elif self._python or _FRAME.match(line):
            return
        elif found := _THROWN.search(line):
            self._keep(number, found["what"], None if found.start("what") else self.now)
        else:
            self._chained = self._chained or _CHAINED.match(line) is not None
            self.now = None

    def _keep(self, number: int, what: str, of: Cause | None) -> None:
        """A deeper cause of that exception, or a new one."""
        text = what.strip()[:_LONGEST]
        if of is None:
            of = Cause(text, number)
        else:
            of.text, of.line = text, number
        self.first = self.first or of
        self.now = self._last = of


def diagnose(lines: Iterable[str], symptoms: Sequence[Symptom] = SYMPTOMS) -> Diagnosis:
    """Looks for each symptom in each line; those that span lines in a window of forty."""
    simple = [(each, re.compile(each.pattern)) for each in symptoms if "(?s:" not in each.pattern]
    spanning = [(each, re.compile(each.pattern)) for each in symptoms if "(?s:" in each.pattern]
    found: dict[str, Sign] = {}
    window: deque[str] = deque(maxlen=_WINDOW)
    causes = _Causes()
    number = 0
    for number, raw in enumerate(lines, start=1):
        line = bare(raw.rstrip("\r\n"))
        causes.read(number, line)
        for sign in found.values():
            if sign.line == number - 1:  # the line with which the exception was logged
                sign.cause = sign.cause or causes.now
        for symptom, pattern in simple:
            if match := pattern.search(line):
                _note(found, symptom, match, number, line, causes.now)
        window.append(line)
        if spanning and _may_span(line):
            text = "\n".join(window)
            for symptom, pattern in spanning:
                if symptom.name not in found and (match := pattern.search(text)):
                    _note(found, symptom, match, number, line, causes.now)
    told = list(found.values())
    telling = [sign for sign in told if not sign.symptom.wrapper] or told
    order = [symptom.name for symptom in symptoms]
    signs = sorted(telling, key=lambda sign: order.index(sign.symptom.name))
    innermost = next((sign.cause for sign in signs if sign.cause and sign.cause.text), causes.first) or Cause(
        "", 0
    )
    return Diagnosis(
        signs=tuple(signs),
        innermost=innermost.text,
        innermost_line=innermost.line,
        lines=number,
    )


def _may_span(line: str) -> bool:
    return "Exception" in line or line.lstrip().startswith("at ")


def _note(
    found: dict[str, Sign],
    symptom: Symptom,
    match: "re.Match[str]",
    number: int,
    line: str,
    cause: Cause | None,
) -> None:
    known = found.get(symptom.name)
    if known is not None:
        known.count += 1
        return
    subject = match.groupdict().get("id") or ""
    found[symptom.name] = Sign(symptom, number, line.strip()[:_LONGEST], subject=subject, cause=cause)
