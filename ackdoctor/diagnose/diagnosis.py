"""A log or a pasted error, read: which known symptoms it has, in which components, and the innermost cause of its exceptions."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ackdoctor.diagnose.exceptions import Exceptions, Stack, Thrown
from ackdoctor.diagnose.json_log import entries, unpacked
from ackdoctor.diagnose.symptoms import SYMPTOMS, Symptom
from ackdoctor.tracer.disk.put_before import bare

__all__ = ["Diagnosis", "Sign", "diagnose"]

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_LONGEST = 400
_WHOLE = 20_000  # characters of a line that are looked at: what has more is data
_LONGEST_ENTRY = 10_000_000  # of one in JSON
_MOST_CAUSES = 20  # different ones of a symptom
_HEAD_LINES = 200
_OTHER: Mapping[str, re.Pattern[str]] = {  # what a text is that is no log
    "a class histogram: ackdoctor heap hist reads it": re.compile(
        r"^ *num +(?:#instances|object count)|^ *1: +\d+ +\d+ +\S+"
    ),
    "a part of a trace: ackdoctor trace report reads it": re.compile(r'^\{"schema":\d+,"kind":\d+,'),
}


@dataclass(slots=True)
class Sign:
    """A symptom in the text: the line of the first, how often, the id that it names, and the exceptions that it is part of.

    One exception that says it more than once, as its own and as its cause's words, counts once; `latest` is the last one that did.
    `components` are those that it is said of, as far as the log tells; both are in the order in which they come.
    """

    symptom: Symptom
    line: int
    text: str
    count: int = 1
    subject: str = ""
    thrown: list[Thrown] = field(default_factory=list)
    components: list[str] = field(default_factory=list)
    latest: Thrown | None = None

    @property
    def causes(self) -> list[Thrown]:
        """The innermost of its exceptions, each once; of a wrapper, those that say more than it does, if any."""
        first = {each.text: each for each in reversed(self.thrown) if each.text}
        causes = list(reversed(first.values()))
        more = [each for each in causes if not (self.symptom.wrapper and self._is_said_in(each))]
        return more or causes

    def _is_said_in(self, thrown: Thrown) -> bool:
        return re.search(self.symptom.pattern, thrown.text) is not None

    def is_part_of(self, thrown: Thrown | None) -> None:
        """One more exception, unless it is the last one again, or there have been many different ones."""
        self.latest = thrown
        if thrown is None or (self.thrown and self.thrown[-1] is thrown):
            return
        if any(each.text == self.thrown[-1].text for each in self.thrown[:-1]):
            self.thrown.pop()  # its text is complete by now, and has been there before
        if len(self.thrown) < _MOST_CAUSES:
            self.thrown.append(thrown)

    def unexplained(self, telling: Sequence["Sign"]) -> "Sign | None":
        """What is left of a wrapper: the exceptions that no such sign is part of, of components of whose death none tells."""
        known = {cause.text for sign in telling for cause in sign.causes}
        named = {each for sign in telling if sign.symptom.fatal for each in sign.components}
        left = [
            each
            for each in self.causes
            if each.text not in known and each.component not in named and not self._is_said_in(each)
        ]
        components = list(dict.fromkeys(each.component for each in left if each.component))
        return (
            replace(self, thrown=left, line=left[0].line, count=len(left), components=components)
            if left
            else None
        )


@dataclass(slots=True, kw_only=True)
class Diagnosis:
    """What was found, in the order in which it was said; `innermost` is the deepest cause of the first exception, with its line.

    What the worker survives stands behind; of what one exception shows the most telling is first.  Where no symptom is part
    of an exception `innermost` is that of the first one.  `other` says what the text is if it is no log.
    """

    signs: tuple[Sign, ...]
    innermost: str = ""
    innermost_line: int = 0
    lines: int = 0
    other: str = ""


def diagnose(
    lines: Iterable[str], symptoms: Sequence[Symptom] = SYMPTOMS, *, begins: Collection[int] = ()
) -> Diagnosis:
    """Looks for each symptom in each line; one that has a `frame` waits for the stack below.

    Of several files read as one, `begins` says after which lines one begins, as it becomes known: no exception goes on there.
    """
    patterns = [(each, re.compile(each.pattern)) for each in symptoms]
    words = tuple({word for each in symptoms for word in each.words})
    found = _Found()
    thrown = Exceptions()
    first: Thrown | None = None
    number = 0
    other = ""
    for number, line in _read(lines):
        if number - 1 in begins:
            found.settle()
            first, thrown = first or thrown.first, Exceptions()
        if number <= _HEAD_LINES and not other:
            other = next((said for said, form in _OTHER.items() if form.match(line)), "")
        thrown.read(number, line)
        found.go_on(number, thrown)
        if not any(map(line.__contains__, words)):
            continue
        for symptom, pattern in patterns:
            if match := pattern.search(line):
                subject = match.groupdict().get("id") or ""
                seen = Sign(symptom, number, line.strip()[:_LONGEST], subject=subject)
                seen.is_part_of(thrown.now)
                seen.components += filter(None, [thrown.component])
                found.see(seen, thrown)
    found.settle()
    told = list(found.signs.values())
    if telling := [sign for sign in told if not sign.symptom.wrapper]:
        left = [sign.unexplained(telling) for sign in told if sign.symptom.wrapper]
        told = [*telling, *filter(None, left)]
    signs = _in_time(told, symptoms)
    innermost = next((cause for sign in signs for cause in sign.causes), first or thrown.first)
    return Diagnosis(
        signs=signs,
        innermost=innermost.text if innermost else "",
        innermost_line=innermost.line if innermost else 0,
        lines=number,
        other=other,
    )


def _in_time(signs: Sequence[Sign], symptoms: Sequence[Symptom]) -> tuple[Sign, ...]:
    """What was said first is first, since the rest may have come of it; one exception is told by the symptom that explains it best."""
    of: dict[int, list[Sign]] = {}  # an exception's, by its identity
    for sign in signs:
        of.setdefault(id(sign.thrown[0] if sign.thrown else sign), []).append(sign)

    def place(sign: Sign) -> tuple[bool, int, int]:
        alike = of[id(sign.thrown[0] if sign.thrown else sign)]
        survived = not any(each.symptom.fatal for each in alike)
        return survived, min(each.line for each in alike), symptoms.index(sign.symptom)

    return tuple(sorted(signs, key=place))


def _read(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """What each line says, with its number."""
    for number, raw in entries(lines):
        line = _bare(raw[:_LONGEST_ENTRY])
        if line.startswith("{") or "\\n" in line:
            yield from ((number, _bare(each)[:_WHOLE]) for each in unpacked(line))
        else:
            yield number, line


def _bare(raw: str) -> str:
    """The line as it was written; zeros are those of a file that was cut while it was open, or of an editor's UTF-16."""
    line = raw.replace("\0", "").rstrip("\r\n")
    line = line if line.startswith("{") else line[:_WHOLE]
    return bare(_COLOURS.sub("", line) if "\x1b" in line else line)


class _Found:
    """The signs so far, and those that wait for the stack of their exception."""

    def __init__(self) -> None:
        self.signs: dict[str, Sign] = {}
        self._waiting: list[Sign] = []
        self._stack = Stack()  # that they wait for
        self._announced: list[tuple[int, Sign]] = []  # on that line, of an exception that may come next

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
        if self._announced and thrown.now is not None:
            for line, sign in self._announced:
                if line >= number - 1:
                    sign.is_part_of(thrown.now)
            self._announced.clear()

    def settle(self) -> None:
        """No more of the stack will come."""
        waiting, self._waiting = self._waiting, []
        lines = "\n".join(self._stack.lines)
        for seen in waiting:
            if re.search(seen.symptom.frame, lines) if lines else not seen.symptom.vague:
                self._note(seen)

    def _note(self, seen: Sign) -> None:
        known = self.signs.setdefault(seen.symptom.name, seen)
        if not seen.thrown:
            self._announced = [(seen.line, known)]
        if known is not seen:
            known.count += seen.latest is None or seen.latest is not known.latest
            known.is_part_of(seen.latest)
            known.components += [each for each in seen.components if each not in known.components]
