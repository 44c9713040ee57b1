"""Break the fixture topologies in random ways, fix them, and check what the fixes leave.

    python benchmarks/fix_mutants.py [--count 2000] [--seed 0] [--jobs 2] [--keep FOLDER]

A mutant is a topology of `fixtures/topologies` with one file changed by one to three mutations.  After `--fix --unsafe-fixes`

- every file that parsed parses;
- no rule reports more than before in any handler, and lint reads every file that it read;
- comments, line ends, the byte order mark and the end of the file are as before, and most lines are the same lines;
- a second run changes nothing.

The seed and the number of a mutant make it again: `--only 17`.
"""

import argparse
import ast
import codecs
import difflib
import random
import re
import shutil
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

from ackdoctor.config import Settings
from ackdoctor.fixes import open_document
from ackdoctor.fixes.document import Document, Node
from ackdoctor.lint.repair import Repairs, all_rules
from ackdoctor.lint.run import lint
from ackdoctor.model.finding import Report

TOPOLOGIES = Path(__file__).parents[1] / "fixtures" / "topologies"
SUFFIXES = {".py": "python", ".java": "java"}
MOST_CHANGED = 30  # lines, for the fixes of all findings of a file
COMMENT = {
    "python": re.compile(r"#[^\r\n]*"),
    "java": re.compile(r"//[^\r\n]*|/\*.*?\*/", re.DOTALL),
}
VERBS = ("ack", "fail", "emit")

Mutation = Callable[[Document, random.Random], str | None]


class Outcome(NamedTuple):
    """What became of one mutant."""

    number: int
    name: str
    found: int
    fixed: int
    faults: tuple[str, ...]


# ---- mutations ----


def _calls(document: Document, *names: str) -> list[Node]:
    """Return the statements that are one call of these names."""
    statements = (node for node in document.root.walk() if node.kind == "expression") if document.root else ()
    return [
        node
        for node in statements
        if node.children and node.children[0].name in names and document.indent(node) is not None
    ]


def _lines_of(document: Document, node: Node) -> tuple[int, int]:
    return document.line_start(node.start), document.next_line(node.end)


def _without(document: Document, start: int, end: int) -> str:
    return document.text[:start] + document.text[end:]


def _with(document: Document, at: int, text: str) -> str:
    return document.text[:at] + text + document.text[at:]


def delete(document: Document, chance: random.Random) -> str | None:
    """Delete a statement that acks, fails or emits."""
    calls = [node for node in _calls(document, *VERBS) if node.parent and len(node.parent.children) > 1]
    return _without(document, *_lines_of(document, chance.choice(calls))) if calls else None


def duplicate(document: Document, chance: random.Random) -> str | None:
    """Write a statement that acks, fails or emits twice."""
    calls = _calls(document, *VERBS)
    if not calls:
        return None
    start, end = _lines_of(document, chance.choice(calls))
    return _with(document, end, document.text[start:end])


def move(document: Document, chance: random.Random) -> str | None:
    """Move an ack or a fail before or behind another statement, with that one's indentation."""
    calls = [
        node for node in _calls(document, "ack", "fail") if node.parent and len(node.parent.children) > 1
    ]
    if not calls:
        return None
    moved = chance.choice(calls)
    function = moved.nearest("function")
    others = [
        node
        for node in (function.walk() if function else ())
        if node.parent
        and node.parent.kind == "block"
        and node is not moved
        and document.indent(node) is not None
        and not moved.start <= node.start < moved.end
        and not node.start <= moved.start < node.end
    ]
    if not others:
        return None
    place = chance.choice(others)
    before = chance.choice([True, False])
    at = document.line_start(place.start) if before else document.next_line(place.end)
    code = f"{document.indent(place)}{document.source(moved)}{document.newline}"
    start, end = _lines_of(document, moved)
    if at <= start:
        return document.text[:at] + code + document.text[at:start] + document.text[end:]
    return document.text[:start] + document.text[end:at] + code + document.text[at:]


def swap(document: Document, chance: random.Random) -> str | None:
    """Turn an ack into a fail, or a fail into an ack."""
    calls = _calls(document, "ack", "fail")
    if not calls:
        return None
    call = chance.choice(calls).children[0]
    text = document.source(call)
    other = text.replace(".ack(", ".fail(", 1) if call.name == "ack" else text.replace(".fail(", ".ack(", 1)
    return document.text[: call.start] + other + document.text[call.end :]


def without_anchor(document: Document, chance: random.Random) -> str | None:
    """Leave the anchor of an emit out, or give it in a wrong form."""
    if not document.java:
        found = list(re.finditer(r",\s*anchors=\[(\w+)\]", document.text))
        if not found:
            return None
        match = chance.choice(found)
        new = chance.choice(
            ["", f", anchors={match[1]}", f", anchors=[{match[1]}.id]", f", anchors=[[{match[1]}]]"]
        )
        return document.text[: match.start()] + new + document.text[match.end() :]
    found = list(re.finditer(r"\.emit\((?:[\w.]+, )??(tuple|input|batch), ", document.text))
    if not found:
        return None
    match = chance.choice(found)
    return document.text[: match.start(1)] + document.text[match.end(1) + 2 :]


def swallow(document: Document, chance: random.Random) -> str | None:
    """Put a statement into a `try` whose handler hides everything."""
    nodes = [
        node
        for node in (document.root.walk() if document.root else ())
        if node.kind == "expression"
        and document.indent(node) is not None
        and node.nearest("function")
        and node.parent
        and node.parent.kind == "block"
        and "\n" not in document.source(node)
    ]
    if not nodes:
        return None
    node = chance.choice(nodes)
    indent, line = document.indent(node) or "", document.newline
    unit = "    "
    code = document.source(node)
    if document.java:
        text = f"{indent}try {{{line}{indent}{unit}{code}{line}{indent}}} catch (Exception hidden) {{{line}{indent}}}{line}"
    else:
        text = f"{indent}try:{line}{indent}{unit}{code}{line}{indent}except Exception:{line}{indent}{unit}pass{line}"
    start, end = _lines_of(document, node)
    return document.text[:start] + text + document.text[end:]


def leave(document: Document, chance: random.Random) -> str | None:
    """Return from a handler under a condition."""
    nodes = [
        node
        for node in (document.root.walk() if document.root else ())
        if node.kind in ("expression", "if", "loop", "try")
        and document.indent(node) is not None
        and (function := node.nearest("function")) is not None
        and function.name in ("execute", "process", "process_tuple", "nextTuple", "next_tuple", "fail")
        and node.parent
        and node.parent.kind == "block"
    ]
    if not nodes:
        return None
    node = chance.choice(nodes)
    indent, line = document.indent(node) or "", document.newline
    java = [
        f"if (System.nanoTime() % 2 == 0) {{{line}{indent}    return;{line}{indent}}}",
        "if (System.nanoTime() % 2 == 0) return;",
    ]
    python = [f"if id(self) % 2:{line}{indent}    return", "if id(self) % 2: return"]
    code = chance.choice(java if document.java else python)
    return _with(document, document.line_start(node.start), f"{indent}{code}{line}")


def comment(document: Document, chance: random.Random) -> str | None:
    """Put comments behind a line and before one."""
    nodes = [node for node in _calls(document, *VERBS) if "\n" not in document.source(node)]
    if not nodes:
        return None
    node = chance.choice(nodes)
    mark = "//" if document.java else "#"
    end, start = document.line_end(node.end), document.line_start(node.start)
    above = f"{document.indent(node)}{mark} why not, caf\u00e9?{document.newline}"
    return document.text[:start] + above + document.text[start:end] + f"  {mark} here" + document.text[end:]


def one_line(document: Document, chance: random.Random) -> str | None:
    """Put two statements on one line."""
    nodes = [
        node
        for node in _calls(document, *VERBS)
        if node.parent and node.parent.kind == "block" and node is not node.parent.children[0]
    ]
    if not nodes:
        return None
    node = chance.choice(nodes)
    parent = node.parent
    before = parent.children[parent.children.index(node) - 1] if parent else node
    if before.kind != "expression" or document.text[before.end : node.start].strip():
        return None
    return document.text[: before.end] + (" " if document.java else "; ") + document.text[node.start :]


def rename(document: Document, chance: random.Random) -> str | None:
    """Give the input another name."""
    name = chance.choice(["t", "message", "_in"])
    old = r"\btuple\b" if document.java else r"\btup\b"
    if re.search(rf"\b{name}\b", document.text) or not re.search(old, document.text):
        return None
    return re.sub(old, name, document.text)


def reindent(document: Document, chance: random.Random) -> str | None:
    """Indent by tabs, or by two spaces."""
    unit = chance.choice(["\t", "  "])
    return re.sub(r"(?m)^(?:    )+", lambda found: unit * (len(found[0]) // 4), document.text)


def braces(document: Document, chance: random.Random) -> str | None:
    """Put each opening brace of a Java file on its own line."""
    del chance
    if not document.java:
        return None
    return re.sub(
        r"(?m)^([ \t]*)(\S.*) \{$", lambda m: f"{m[1]}{m[2]}{document.newline}{m[1]}{{", document.text
    )


MUTATIONS: tuple[Mutation, ...] = (
    delete, duplicate, move, move, swap, without_anchor, swallow, leave, comment, one_line, rename, reindent, braces,
)  # fmt: skip


def encoded(text: str, encoding: str, language: str, chance: random.Random) -> bytes:
    """Return the file with other line ends, a byte order mark or another encoding, now and then."""
    kind = chance.choice(["", "", "", "", "crlf", "mark", "latin-1", "no end"])
    if kind == "crlf":
        text = re.sub(r"\r?\n", "\r\n", text)
    if kind == "no end":
        text = text.rstrip("\r\n")
    if kind == "latin-1" and language == "java":
        encoding = kind
    mark = codecs.BOM_UTF8 if kind == "mark" and language == "python" and encoding == "utf-8" else b""
    return mark + text.encode(encoding)


def mutate(data: bytes, language: str, chance: random.Random) -> tuple[bytes, str] | None:
    """Return a mutant of a file, and the names of its mutations."""
    names = []
    for _ in range(chance.randint(1, 3)):
        document = open_document(data, language)
        if document is None or document.mark:
            return None
        mutation = chance.choice(MUTATIONS)
        text = mutation(document, chance)
        if text is not None and parses(text.encode(document.encoding, "replace"), language):
            data = text.encode(document.encoding, "replace")
            names.append(mutation.__name__)
    document = open_document(data, language)
    if document is None or not names:
        return None
    data = encoded(document.text, document.encoding, language, chance)
    return (data, " ".join(names)) if parses(data, language) else None


def parses(data: bytes, language: str) -> bool:
    """Whether a file has no syntax error; Python 2 counts as none."""
    if language == "python":
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                ast.parse(data)
        except (SyntaxError, ValueError):
            return False
        return True
    document = open_document(data, language)
    return document is not None and document.root is not None


# ---- checks ----


def _key(report: Report) -> Counter[tuple[str, str, str, str]]:
    return Counter((each.code, each.site.path, each.component, each.handler) for each in report.findings)


def check(folder: Path) -> tuple[int, int, tuple[str, ...]]:
    """Fix the files of a folder; return the findings before, those that are gone, and what is wrong."""
    files = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    plain = Settings(directory=folder)
    reports: dict[object, Report] = {}

    def run(settings: Settings, edited: Mapping[str, bytes]) -> Report:
        """Lint the files once for each content."""
        key = (settings is plain, tuple(sorted({**files, **edited}.items())))
        if key not in reports:
            reports[key] = lint([folder], settings, root=folder, jobs=1, edited=edited)
        return reports[key]

    every = all_rules(plain)
    before = run(every, {})
    first = Repairs(
        lambda edited: run(plain, edited), lambda edited: run(every, edited), folder, {}, plain.rules
    )
    first.fix(run(plain, {}), unsafe=True)
    first.write()
    old = dict(files)
    files.update(first.after)
    after = run(every, {})
    second = Repairs(
        lambda edited: run(plain, edited), lambda edited: run(every, edited), folder, {}, plain.rules
    )
    second.fix(run(plain, {}), unsafe=True)
    faults = [f"new {key}" for key, amount in (_key(after) - _key(before)).items() if amount]
    faults += [
        f"unread {each.path}: {each.reason}" for each in set(after.unreadable) - set(before.unreadable)
    ]
    for name, data in first.after.items():
        faults += (f"{name}: {fault}" for fault in _differences(old[name], data, name))
    faults += [f"{name}: the second run changes it" for name in second.after]
    return len(before.findings), (_key(before) - _key(after)).total(), tuple(faults)


def _differences(before: bytes, after: bytes, name: str) -> Iterator[str]:
    """Yield what a fix may not change."""
    language = SUFFIXES.get(Path(name).suffix, "text")
    if language == "text":
        return
    if not parses(after, language) and parses(before, language):
        yield "does not parse"
    if before.startswith(codecs.BOM_UTF8) != after.startswith(codecs.BOM_UTF8):
        yield "another byte order mark"
    if before.endswith(b"\n") != after.endswith(b"\n"):
        yield "another end of the file"
    if b"\r\n" in before and re.search(rb"(?<!\r)\n", after) and not re.search(rb"(?<!\r)\n", before):
        yield "other line ends"
    document, fixed = open_document(before, language), open_document(after, language)
    if document is None or fixed is None or document.encoding != fixed.encoding:
        yield "another encoding"
        return
    lost = Counter(COMMENT[language].findall(document.text)) - Counter(COMMENT[language].findall(fixed.text))
    lost -= Counter({text: amount for text, amount in lost.items() if "ackdoctor:" in text})
    removed = [
        line[2:]
        for line in difflib.ndiff(document.text.splitlines(), fixed.text.splitlines())
        if line[:1] == "-"
    ]
    beside = [
        text
        for text in lost
        if not any(line.rstrip().endswith(text) and re.search(r"\b(ack|fail)\w*\(", line) for line in removed)
    ]
    if beside:
        yield f"lost the comment {beside[0]}"
    if len(removed) > MOST_CHANGED:
        yield f"{len(removed)} lines changed"


# ---- the run ----


def mutant(number: int, seed: int, keep: Path | None = None) -> Outcome:
    """Make, fix and check one mutant."""
    chance = random.Random(f"{seed} {number}")
    folders = sorted({path.parent for path in TOPOLOGIES.glob("*/*/*")})
    while True:
        folder = chance.choice(folders)
        sources = sorted(path for path in folder.rglob("*") if SUFFIXES.get(path.suffix))
        path = chance.choice(sources)
        language = SUFFIXES[path.suffix]
        made = mutate(path.read_bytes(), language, chance)
        if made is not None:
            break
    name = f"{path.relative_to(TOPOLOGIES)}: {made[1]}"
    with tempfile.TemporaryDirectory() as scratch:
        place = keep or Path(scratch)
        shutil.copytree(folder, place / "topology")
        (place / "topology" / path.relative_to(folder)).write_bytes(made[0])
        try:
            found, fixed, faults = check(place / "topology")
        except Exception as error:  # noqa: BLE001  # a crash is a result
            return Outcome(number, name, 0, 0, (f"{type(error).__name__}: {error}",))
    return Outcome(number, name, found, fixed, faults)


def main() -> int:
    """Run the mutants and print the ones that fail, and the amounts."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", type=int, help="run this mutant alone")
    parser.add_argument("--keep", type=Path, help="with --only: leave the fixed files in this new folder")
    options = parser.parse_args()
    if options.only is not None:
        outcome = mutant(options.only, options.seed, options.keep)
        print(outcome)
        return bool(outcome.faults)
    run = partial(mutant, seed=options.seed)
    amounts: Mapping[str, int] = Counter()
    with ProcessPoolExecutor(options.jobs) as pool:
        for outcome in pool.map(run, range(options.count), chunksize=8):
            amounts = Counter(amounts) + Counter(
                mutants=1, findings=outcome.found, fixed=outcome.fixed, failed=bool(outcome.faults)
            )
            if outcome.faults:
                print(f"{outcome.number} {outcome.name}", *outcome.faults, sep="\n    ", flush=True)
    print(", ".join(f"{amounts[name]} {name}" for name in ("mutants", "findings", "fixed", "failed")))
    return amounts["failed"] > 0


if __name__ == "__main__":
    sys.exit(main())
