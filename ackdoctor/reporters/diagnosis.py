"""A diagnosis of a log, for people and for scripts."""

import json
from collections.abc import Iterator, Mapping
from typing import TextIO

from ackdoctor.heap.diagnosis import Diagnosis, Sign
from ackdoctor.reporters.context import Palette, printable
from ackdoctor.reporters.footer import counted

__all__ = ["document", "screen"]

_MOST_CAUSES = 5


def screen(found: Diagnosis, stream: TextIO, palette: Palette, names: Mapping[str, str]) -> None:
    """The innermost cause first, then each symptom with its causes in order and what to run next."""
    if found.innermost:
        stream.write(
            f"{palette.paint('label', 'innermost cause')}, line {found.innermost_line:,}: {printable(found.innermost)}\n"
        )
    if not found.signs:
        said = (
            "an exception that is not about acking, as far as is known here"
            if found.innermost
            else "nothing that is known here"
        )
        stream.write(f"{said} ({counted(found.lines, 'line')})\n")
        return
    for sign in found.signs:
        stream.writelines(f"{line}\n" for line in ("", *_lines(sign, found, palette, names)))


def _lines(sign: Sign, found: Diagnosis, palette: Palette, names: Mapping[str, str]) -> Iterator[str]:
    symptom = sign.symptom
    style = "error" if symptom.fatal else "warning"
    often = f", {sign.count:,} times" if sign.count > 1 else ""
    whose = f", in {printable(', '.join(sign.components))}" if sign.components else ""
    yield f"{palette.paint(style, symptom.name)}  line {sign.line:,}{often}{whose}"
    yield f"  {symptom.says}"
    if [cause.text for cause in sign.causes] != [found.innermost]:
        for thrown in sign.causes[:_MOST_CAUSES]:
            yield f"  {palette.paint('label', 'innermost cause')}, line {thrown.line:,}: {printable(thrown.text)}"
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


def document(found: Diagnosis, stream: TextIO) -> None:
    """The same as one JSON object."""
    plain = {
        "lines": found.lines,
        "innermost": {"line": found.innermost_line, "text": found.innermost} if found.innermost else None,
        "symptoms": [
            {
                "name": sign.symptom.name,
                "line": sign.line,
                "text": sign.text,
                "count": sign.count,
                "id": sign.subject,
                "components": sign.components,
                "innermost": [{"line": cause.line, "text": cause.text} for cause in sign.causes],
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
