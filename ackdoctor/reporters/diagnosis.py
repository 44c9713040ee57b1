"""What `ackdoctor diagnose` shows, for people and as JSON."""

import json
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import pairwise
from typing import TextIO

from ackdoctor.diagnose.diagnosis import Places, deaths_of
from ackdoctor.diagnose.stacks import Thrown
from ackdoctor.diagnose.symptoms import Diagnosis, Sign
from ackdoctor.dialects import known
from ackdoctor.model.finding import counted
from ackdoctor.reporters import Context, Palette, printable

_MAX_CAUSES = 5
_MAX_WIDTH = 80
_FEWEST_RESTS = 2  # between three bursts
_PYTHON_ONLY = ("ackdoctor lint ", "pytest ")  # commands for components in Python or Java
_HARMLESS = "the first exception shows no fault in acking, and the log does not say that it ended anything"
_FROZEN = "if the topology hangs nevertheless: jstack PID > dump.txt; ackdoctor diagnose dump.txt"


def screen(
    found: Diagnosis, stream: TextIO, context: Context, names: Mapping[str, str], places: Places
) -> None:
    """Write the innermost cause with its frames, then each symptom with its causes and the next commands.

    Without symptoms the result comes first, so that a harmless exception does not look like the cause.
    """
    palette, width = context.palette, min(context.width, _MAX_WIDTH)
    first = found.first if found.innermost else None
    explained = not found.signs or any(first is cause for sign in found.signs for cause in sign.causes)
    if not found.signs:
        stream.write(f"no known symptom ({counted(found.lines, 'line')})\n")
        if first is not None:
            stream.write(f"{_HARMLESS}\n")
            stream.writelines(f"{line}\n" for line in _innermost(first, "  ", palette, places))
        if found.note:
            stream.writelines(f"{line}\n" for line in _wrapped(found.note, "", "  ", width))
        elif places.files and found.lines:
            stream.write(f"{_FROZEN}\n")
        return
    if first is not None and explained:
        stream.writelines(f"{line}\n" for line in _innermost(first, "", palette, places))
    for number, sign in enumerate(found.signs):
        between = ("",) if number or (first is not None and explained) else ()
        stream.writelines(f"{line}\n" for line in (*between, *_lines(sign, found, context, names, places)))
    if first is not None and not explained:
        stream.write("\nan unknown exception; the log does not show that it ended anything\n")
        stream.writelines(f"{line}\n" for line in _innermost(first, "  ", palette, places))


def _innermost(
    thrown: Thrown, indent: str, palette: Palette, places: Places, seen: Thrown | None = None
) -> Iterator[str]:
    label = "thread" if thrown.thread else "innermost cause"
    yield f"{indent}{palette.paint('label', label)}{_place(places, ', ', thrown.line)}: {printable(thrown.text)}"
    frames = () if seen and seen.evidence == thrown.evidence else thrown.evidence
    for frame in frames:
        mark = "   <- own code" if frame.own else ""
        yield f"{indent}    {palette.paint('path' if frame.own else 'faint', printable(frame.text))}{mark}"


def _lines(
    sign: Sign, found: Diagnosis, context: Context, names: Mapping[str, str], places: Places
) -> Iterator[str]:
    palette, width = context.palette, min(context.width, _MAX_WIDTH)
    symptom = sign.symptom
    whose = f", in {printable(', '.join(sign.components))}" if sign.components else ""
    where = _place(places, "  ", sign.first.line)
    yield f"{palette.paint('error' if sign.fatal else 'warning', symptom.name)}{where}{_times(sign)}{whose}"
    if when := _when(sign):
        yield f"  {when}"
    if sign.same_dumps > 1:
        yield f"  a thread with the same frames in {sign.same_dumps} dumps"
    if sign.command:
        yield f"  {palette.paint('label', 'command')}: {printable(sign.command)}"
    yield from _wrapped(symptom.meaning, "  ", "  ", width)
    if not sign.causes:
        yield f"  {palette.paint('label', 'text')}: {printable(sign.first.text)}"
    others = [cause for cause in sign.causes if cause is not found.first]
    for thrown in others[:_MAX_CAUSES]:
        yield from _innermost(
            thrown, "  ", palette, places, sign.causes[0] if thrown is not sign.causes[0] else None
        )
    if len(others) > _MAX_CAUSES:
        yield f"  and {len(others) - _MAX_CAUSES} more; --output-format json has them"
    yield f"  {palette.paint('label', 'likely causes, in order')}"
    for place, cause in enumerate(sign.likely_causes, start=1):
        law = f" (law {cause.law})" if cause.law else ""
        yield from _wrapped(f"{cause.text}{law}", f"    {place}. ", "       ", width)
        for code in cause.rules:
            yield f"       {palette.paint('code', code)} {names.get(code, '')}: ackdoctor explain {code}"
    for place, command in enumerate(_next_commands(sign)):
        first, *more = _wrapped(command, " " * 8, " " * 10, width)
        yield f"  {palette.paint('label', 'next:')}{first[7:]}" if not place else first
        yield from more


def _times(sign: Sign) -> str:
    return f", {sign.count:,} times" if sign.count > 1 else ""


def _when(sign: Sign) -> str:
    """`2026-01-01 12:00:00 to 12:10:00, about every 100 s`; '' for a single occurrence."""
    moments = sign.moments
    if sign.count < 2 or len(moments) < 2:  # noqa: PLR2004
        return ""
    first, last = moments[0], moments[-1]
    if first.text == last.text:
        return f"all at {first.text}"
    day, _, time = last.text.partition(" ")
    until = time if first.text.startswith(day) else last.text
    period_s = _period_s([moment.seconds for moment in moments])
    every = f", about every {period_s:,.0f} s" if period_s else ""
    return f"{first.text} to {until}{every}"


def _period_s(seconds: Sequence[float]) -> float:
    """Return the time between bursts that come regularly; 0 for others.  A burst lasts less than a quarter of it."""
    longest = max((after - before for before, after in pairwise(seconds)), default=0)
    starts = [after for before, after in pairwise(seconds) if after - before >= max(1, longest / 4)]
    rests = [after - before for before, after in pairwise((seconds[0], *starts))]
    if len(rests) < _FEWEST_RESTS or max(rests) > 2 * min(rests):
        return 0
    return (starts[-1] - seconds[0]) / len(rests)


def _next_commands(sign: Sign) -> Sequence[str]:
    """Return the next commands, in the language of the component."""
    command, steps = sign.command, sign.steps
    kept = [each for each in steps if not each.startswith((*_PYTHON_ONLY, "ackdoctor trace proxy"))]
    if not command or _is_python(command) or len(kept) == len(steps):
        return steps
    return [
        f"check the acks, fails, emits and prints of `{printable(command)}`: ackdoctor lint reads only Python and Java",
        f"ackdoctor trace proxy -- {printable(command)}   shows each of them with its tuple, in any language",
        *kept,
    ]


def _is_python(command: str) -> bool:
    program = command.split(maxsplit=1)[0].rpartition("/")[2]
    runners = {"pypy", "pypy3", *(runner for dialect in known() for runner in dialect.runners)}
    return (
        "python" in command
        or any(word.endswith((".py", ".pyc", ".pex")) for word in command.split())
        or program in runners
    )


def _place(places: Places, before: str, line: int) -> str:
    """Return `line 7` after `before`, with its file if there are several; '' for pasted text."""
    file, there = places.of(line)
    if not file:
        return ""
    return f"{before}{f'{printable(file)}, ' if len(places.files) > 1 else ''}line {there:,}"


def _wrapped(text: str, first: str, then: str, width: int) -> list[str]:
    return textwrap.wrap(
        text,
        width,
        initial_indent=first,
        subsequent_indent=then,
        break_long_words=False,
        break_on_hyphens=False,
    )


def document(found: Diagnosis, stream: TextIO, places: Places) -> None:
    """Write the diagnosis as one JSON object; the file is null for pasted text."""

    def at(line: int) -> dict[str, object]:
        file, there = places.of(line)
        return {"file": file, "line": there}

    def cause(thrown: Thrown) -> dict[str, object]:
        frames = [{"text": frame.text, "own": frame.own} for frame in thrown.evidence]
        return {**at(thrown.line), "text": thrown.text, "frames": frames}

    plain = {
        "lines": found.lines,
        "innermost": cause(found.first) if found.first and found.innermost else None,
        "deaths": [asdict(death) for death in deaths_of(found, places)],
        "symptoms": [
            {
                "name": sign.symptom.name,
                **at(sign.first.line),
                "text": sign.first.text,
                "count": sign.count,
                "first": sign.moments[0].text if sign.moments else None,
                "last": sign.moments[-1].text if sign.moments else None,
                "id": sign.first.subject,
                "components": sign.components,
                "command": sign.command,
                "innermost": [cause(each) for each in sign.causes],
                "says": sign.symptom.meaning,
                "fatal": sign.fatal,
                "causes": [
                    {"text": each.text, "law": each.law, "rules": list(each.rules)}
                    for each in sign.likely_causes
                ],
                "next": list(_next_commands(sign)),
            }
            for sign in found.signs
        ],
    }
    json.dump(plain, stream, indent=2)
    stream.write("\n")
