"""A diagnosis of a log, for people and for scripts."""

import json
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TextIO

from ackdoctor.diagnose.diagnosis import Diagnosis, Sign
from ackdoctor.reporters.context import Palette, printable
from ackdoctor.reporters.footer import counted

__all__ = ["Places", "document", "screen"]

_MOST_CAUSES = 5


@dataclass(slots=True)
class Places:
    """The files that were read as one text, and how many lines there were before each: where in them a line stands."""

    files: tuple[str, ...] = ()
    begins: list[int] = field(default_factory=list)

    def of(self, line: int) -> tuple[str | None, int]:
        """The file, None where there is none, and the line in it."""
        at = bisect_left(self.begins, line) - 1
        return (self.files[at], line - self.begins[at]) if at >= 0 else (None, line)

    def shown(self, before: str, line: int) -> str:
        """`line 7` behind some words, with its file if there are several; nothing of words that stand in no file."""
        file, there = self.of(line)
        if not file:
            return ""
        return f"{before}{f'{printable(file)}, ' if len(self.files) > 1 else ''}line {there:,}"


def screen(
    found: Diagnosis, stream: TextIO, palette: Palette, names: Mapping[str, str], places: Places
) -> None:
    """The innermost cause first, then each symptom with its causes in order and what to run next."""
    if found.innermost:
        stream.write(
            f"{palette.paint('label', 'innermost cause')}{places.shown(', ', found.innermost_line)}: {printable(found.innermost)}\n"
        )
    if not found.signs:
        said = (
            "an exception that is not about acking, as far as is known here"
            if found.innermost
            else "nothing that is known here"
        )
        stream.write(f"{said} ({counted(found.lines, 'line')})\n")
        return
    for number, sign in enumerate(found.signs):
        between = ("",) if number or found.innermost else ()
        stream.writelines(f"{line}\n" for line in (*between, *_lines(sign, found, palette, names, places)))


def _lines(
    sign: Sign, found: Diagnosis, palette: Palette, names: Mapping[str, str], places: Places
) -> Iterator[str]:
    symptom = sign.symptom
    style = "error" if symptom.fatal else "warning"
    often = f", {sign.count:,} times" if sign.count > 1 else ""
    whose = f", in {printable(', '.join(sign.components))}" if sign.components else ""
    where = places.shown("  ", sign.line)
    yield f"{palette.paint(style, symptom.name)}{where}{often}{whose}"
    yield f"  {symptom.says}"
    if not sign.causes:
        yield f"  {palette.paint('label', 'said')}: {printable(sign.text)}"
    if [cause.text for cause in sign.causes] != [found.innermost]:
        for thrown in sign.causes[:_MOST_CAUSES]:
            yield f"  {palette.paint('label', 'innermost cause')}{places.shown(', ', thrown.line)}: {printable(thrown.text)}"
        if len(sign.causes) > _MOST_CAUSES:
            yield f"  and {len(sign.causes) - _MOST_CAUSES} more; --output-format json has them"
    yield f"  {palette.paint('label', 'likely causes, in order')}"
    for place, cause in enumerate(symptom.causes, start=1):
        law = f" (law {cause.law})" if cause.law else ""
        yield f"    {place}. {cause.text}{law}"
        for code in cause.rules:
            yield f"       {palette.paint('code', code)} {names.get(code, '')}: ackdoctor explain {code}"
    for place, command in enumerate(symptom.next):
        yield f"  {palette.paint('label', 'next:') if not place else '     '} {command}"


def document(found: Diagnosis, stream: TextIO, places: Places) -> None:
    """The same as one JSON object; a line is that of its file, which is null where no file was read."""

    def at(line: int) -> dict[str, object]:
        file, there = places.of(line)
        return {"file": file, "line": there}

    plain = {
        "lines": found.lines,
        "innermost": {**at(found.innermost_line), "text": found.innermost} if found.innermost else None,
        "symptoms": [
            {
                "name": sign.symptom.name,
                **at(sign.line),
                "text": sign.text,
                "count": sign.count,
                "id": sign.subject,
                "components": sign.components,
                "innermost": [{**at(cause.line), "text": cause.text} for cause in sign.causes],
                "says": sign.symptom.says,
                "fatal": sign.symptom.fatal,
                "causes": [
                    {"text": cause.text, "law": cause.law, "rules": list(cause.rules)}
                    for cause in sign.symptom.causes
                ],
                "next": list(sign.symptom.next),
            }
            for sign in found.signs
        ],
    }
    json.dump(plain, stream, indent=2)
    stream.write("\n")
