"""What `ackdoctor topology` shows: the sentences about a verdict, the screen, and the JSON.

docs/json.md documents every field of the JSON.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from textwrap import wrap as _wrap
from typing import TextIO

from ackdoctor import __version__
from ackdoctor.model.finding import Report
from ackdoctor.model.topology import (
    Anchors,
    ComponentFacts,
    Defect,
    Edge,
    Gap,
    Judged,
    Node,
    OnFail,
    Place,
    Reason,
    Setting,
    SourceAck,
    Value,
    Verdict,
    Word,
)
from ackdoctor.reporters import Context, printable
from ackdoctor.reporters.drawing import draw
from ackdoctor.reporters.layout import alike, places
from ackdoctor.reporters.tables import block
from ackdoctor.reporters.topology_advice import Advice

_MAX_NEXT = 2  # reasons that a sentence names after the first
_MAX_ROWS = 40
_MAX_LINES = 12
_INDENT = "  "
_STYLES = {Word.AT_MOST_ONCE: "warning", Word.AT_LEAST_ONCE: "label", Word.EXACTLY_ONCE: "label"}
_FACTS: Mapping[str, tuple[str, str]] = {  # fact -> what the component or topology does, and the result
    "spout-no-ids": ("emits without an id", "so nothing is replayed"),
    "spout-no-replay": ("does not emit a failed message again", "so a failed message is lost"),
    "source-acked-on-delivery": (
        "takes a message from its source before the tree completes",
        "so the source does not deliver it again",
    ),
    "bounded-retry": ("gives up after some attempts", "so a message that keeps failing is lost"),
    "ackers-zero": ("runs without ackers", "so nothing is replayed"),
    "reliability-off": ("runs with acking switched off", "so nothing is replayed"),
    "timeouts-off": ("runs without message timeouts", "so what the network loses never fails"),
    "unanchored-emit": ("emits without an anchor", "so nothing replays what is lost behind it"),
    "bolt-never-acks": (
        "leaves tuples without an ack",
        "so their messages time out and are replayed for ever",
    ),
    "bolt-acks-before-effect": ("acks before its effect", "so a crash in between loses the message"),
    "bolt-acks-on-failure": ("acks what failed", "so a failed message is lost"),
    "bolt-swallows-failure": ("acks although an exception was caught", "so a failed message is lost"),
    "double-completion": ("completes a tuple twice", "so its tree may complete early or never"),
    "no-state": ("writes outside of a Trident state", "so a replayed batch counts twice"),
    "not-stateful": ("keeps no state that Heron checkpoints", "so it does not recover exactly once"),
    "state-in-memory": ("keeps its state in memory", "so the state dies with its worker"),
    "state-forgets-txid": ("does not store the transaction id", "so a replayed batch counts twice"),
    "state-ignores-txid": ("does not check the transaction id", "so a replayed batch counts twice"),
    "component-not-found": ("has code that was not read", "so its part is unknown"),
    "file-does-not-parse": ("is wired in a file that does not parse", "so its graph is unknown"),
}


def wrap(text: str, width: int, *, indent: str = "", first: str = "") -> list[str]:
    """Return the text in lines; a path stays whole, so that it can be copied."""
    return _wrap(
        text,
        max(20, width),
        initial_indent=first,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


# ---- sentences ----


def words(word: Word) -> str:
    """`at least once`."""
    return word.value.replace("-", " ")


def guarantee(verdict: Verdict) -> str:
    """`at most once, and may repeat`, `unknown (at best exactly once; at worst at most once)`."""
    if verdict.lower is not verdict.upper:
        return f"unknown (at best {words(verdict.upper)}; at worst {words(verdict.lower)})"
    text = words(verdict.lower)
    if verdict.lower is Word.AT_MOST_ONCE and verdict.may_repeat:
        text += ", and may repeat"
    if verdict.lower is Word.AT_LEAST_ONCE and verdict.death:
        text += f", {_death(verdict.death)}"
    return text


def _death(death: str) -> str:
    return "unknown when the spout dies" if death == "unknown" else death


def sentences(judged: Judged) -> list[str]:
    """Return at most three sentences: the guarantee, the fact that decides it, and the facts to repair next."""
    verdict = judged.verdict
    texts = [f"{judged.topology.name}: {guarantee(verdict)}"]
    if verdict.boundary:
        texts[0] += f"; {verdict.boundary}"
    undecided = verdict.lower is not verdict.upper and verdict.gaps
    if undecided:
        texts.append(f"It depends on {verdict.gaps[0].place}: {verdict.gaps[0].why}")
    reasons = (reason for reason in verdict.reasons if not (undecided and not reason.sure))
    facts = [group[0] for group in alike(reasons)]
    if facts and not undecided:
        texts.append(f"{_fact(facts[0], judged)}{_result(facts[0])}")
        facts = facts[1:]
    if facts:
        rest = [_fact(reason, judged) for reason in facts[:_MAX_NEXT]]
        more = f"; and {len(facts) - _MAX_NEXT} more" if len(facts) > _MAX_NEXT else ""
        texts.append(f"Next: {'; '.join(rest)}{more}")
    return [printable(f"{text}.") for text in texts]


def _fact(reason: Reason, judged: Judged) -> str:
    """`words emits without an id (words.py:36)`."""
    who = reason.component or judged.topology.name
    does = _FACTS[reason.fact][0] if reason.fact in _FACTS else reason.why
    may = "" if reason.sure else "perhaps "
    return f"{who} {may}{does} ({reason.place})"


def _result(reason: Reason) -> str:
    return f", {_FACTS[reason.fact][1]}" if reason.fact in _FACTS else ""


# ---- the guarantee that is required ----


def weaker(judged: Judged, required: Word) -> bool:
    """Return whether the worst that the files allow is weaker than the required guarantee."""
    return judged.verdict.lower.rank < required.rank


def shortfalls(judged: Judged, required: Word) -> Iterator[str]:
    """Yield each reason why a topology does not meet the required guarantee, one line each, its place first."""
    verdict = judged.verdict
    name = f"{judged.topology.name} {branch_of(judged)}".strip()
    head = f"{judged.topology.place}: error: {name}: {guarantee(verdict)}; {words(required)} is required"
    yield printable(head)
    for reason in verdict.reasons:
        if reason.lowers_to.rank < required.rank:
            who = f"{reason.component}: " if reason.component else ""
            yield printable(f"{reason.place}: error: {who}{reason.why} ({reason.fact})")
    if verdict.lower is not verdict.upper:
        yield from (printable(f"{gap.place}: error: unknown: {gap.why}") for gap in verdict.gaps)


# ---- the screen ----


def summary(topologies: Sequence[Judged], stream: TextIO, context: Context) -> None:
    """Write the sentences about each topology."""
    for judged in topologies:
        stream.writelines(f"{line}\n" for line in _head(judged, context))


def screen(report: Report, stream: TextIO, context: Context) -> None:
    """Write each topology: its sentences, its drawing, its reasons with their help, its settings and its defects.

    A branch of the same topology leaves out what is as in the branches before it.
    """
    advice = Advice(report.findings)
    written: dict[tuple[str, ...], set[str]] = {}
    for number, judged in enumerate(report.topologies):
        stream.write("\n" * bool(number))
        stream.writelines(f"{line}\n" for line in _head(judged, context))
        topology = judged.topology
        before = written.setdefault((topology.name, topology.kind, topology.place.path), set())
        blocks = [
            draw(judged, context, context.width - len(_INDENT)),
            _reasons(judged, context, advice),
            _gaps(judged, context.width),
            _settings(judged, context),
            _defects(judged, context, advice),
            _notes(judged.verdict, context.width),
        ]
        new = [each for each in blocks if each and each not in before]
        stream.writelines(f"\n{each}" for each in new)
        if not before.isdisjoint(blocks):
            stream.write(f"{_INDENT}the rest is as in the branch before\n")
        before.update(filter(None, blocks))


def branch_of(judged: Judged) -> str:
    """`if args.length > 0 (line 41)`; "" for a topology with one branch."""
    topology = judged.topology
    return f"if {topology.branch.replace(f'{topology.place.path}:', 'line ')}" if topology.branch else ""


def _head(judged: Judged, context: Context) -> Iterator[str]:
    topology, verdict = judged.topology, judged.verdict
    style = "info" if verdict.lower is not verdict.upper else _STYLES[verdict.lower]
    text = " ".join(sentences(judged))
    first, *rest = wrap(text, context.width, indent=_INDENT)
    name, colon, text = first.partition(": ")
    yield f"{context.palette.paint('path', name)}{colon}{context.palette.paint(style, text)}"
    yield from rest
    parts = dict.fromkeys((topology.kind, topology.framework, str(topology.place)))
    parts |= {branch_of(judged): None}
    about = printable(", ".join(filter(None, parts)))
    for line in wrap(about, context.width, first=_INDENT, indent=_INDENT):
        yield context.palette.paint("faint", line)


def _reasons(judged: Judged, context: Context, advice: Advice) -> str:
    lines = []
    explained: set[str] = set()
    for number, group in enumerate(alike(judged.verdict.reasons), start=1):
        reason = group[0]
        who = f"{reason.component}: " if reason.component else ""
        may = "" if reason.sure else " (may)"
        mark = context.palette.paint("error" if reason.sure else "warning", f"!{number}")
        text = f"{who}{reason.why}, {places(group)}{may} ({reason.fact})"
        first, *rest = wrap(printable(text), context.width - 6)
        lines += [f"{_INDENT}{mark} {first}", *(f"{2 * _INDENT} {line}" for line in rest)]
        lines += _help(advice.action(reason), advice.rule(reason), explained, context)
    return "".join(f"{line}\n" for line in lines)


def _help(action: str, code: str, explained: set[str], context: Context) -> Iterator[str]:
    """Yield how to remove a fault, and the command that explains its rule, once for each rule."""
    explain = f"ackdoctor explain {code}" if code and code not in explained else ""
    explained.add(code)
    label = f"{2 * _INDENT} = {context.palette.paint('label', 'help:')}"
    for text in filter(None, (action, explain)):
        yield from context.wrap(f"{label} {printable(text)}", hang=5 * " ")


def _gaps(judged: Judged, width: int) -> str:
    texts = [f"{gap.why}, {gap.place}" for gap in gaps_of(judged)]
    if (more := len(texts) - _MAX_LINES) > 0:
        texts[_MAX_LINES:] = [f"and {more:,} more; --output-format json has all"]
    return _list("not decided by the files", texts, width)


def _notes(verdict: Verdict, width: int) -> str:
    return _list("notes", verdict.notes, width)


def _list(title: str, texts: Iterable[str], width: int) -> str:
    lines = [
        line for text in texts for line in wrap(printable(text), width, first=_INDENT, indent=2 * _INDENT)
    ]
    return "".join(f"{line}\n" for line in (title, *lines)) if lines else ""


def setting_rows(judged: Judged) -> list[dict[str, str]]:
    """Return a row for each setting of the framework, and for each that shows a fault."""
    return [
        {
            "setting": printable(setting.key),
            "value": shown(setting.value),
            "of": printable(setting.component),
            "from": printable(str(setting.place)),
            "effect": "" if setting.effective else printable(f"none: {setting.why}"),
        }
        for setting in judged.topology.settings
        if _about_storm(setting)
    ]


def _settings(judged: Judged, context: Context) -> str:
    rows = setting_rows(judged)
    dropped = {head for head in ("of", "effect") if not any(row[head] for row in rows)}
    whole = (
        max((len(row["from"]) for row in rows), default=0) <= context.width // 3
    )  # so that a path can be copied
    return block(
        "settings",
        rows[:_MAX_ROWS],
        context,
        unfolded={"from"} if whole else (),
        dropped=dropped,
        total=len(judged.topology.settings),
    )


def _about_storm(setting: Setting) -> bool:
    """Return whether a setting is the framework's, not one that the components read, or shows a fault."""
    framework = setting.key.startswith("topology.") or "." not in setting.key
    return framework or not setting.effective or isinstance(setting.value, Gap)


def _defects(judged: Judged, context: Context, advice: Advice) -> str:
    lines = []
    explained: set[str] = set()
    for defect in defects_of(judged):
        text = printable(f"{defect.sure}: {defect.why}, {defect.place} ({defect.kind})")
        lines += wrap(text, context.width, first=_INDENT, indent=2 * _INDENT)
        finding = advice.about(defect.place, defect.why)
        if finding is not None:
            lines += _help(finding.help, finding.code, explained, context)
    return "".join(f"{line}\n" for line in ("defects", *lines)) if lines else ""


def gaps_of(judged: Judged) -> list[Gap]:
    """Return what the files do not decide about the guarantee or the wiring, each once."""
    return list(dict.fromkeys((*judged.verdict.gaps, *judged.topology.gaps)))


def defects_of(judged: Judged) -> list[Defect]:
    """Return the defects of the wiring and the configuration, each once."""
    return list(dict.fromkeys((*judged.defects, *judged.topology.defects)))


def shown(value: Value) -> str:
    """Return the value of a setting as the file has it: `true`, `30`, `null`, or `unknown`."""
    if isinstance(value, Gap):
        return printable(f"unknown: {value.why}")
    return printable(value if isinstance(value, str) else json.dumps(_plain_value(value), default=str))


# ---- JSON ----


def document(report: Report, stream: TextIO) -> None:
    """Write the topologies of a report as one object, in ASCII."""
    plain = {
        "version": __version__,
        "topologies": [plain_topology(judged) for judged in report.topologies],
        "unreadable": [
            {"path": item.path, "line": item.line, "reason": item.reason} for item in report.unreadable
        ],
        "notes": list(report.notes),
    }
    json.dump(plain, stream, indent=2)
    stream.write("\n")


def plain_topology(judged: Judged) -> dict[str, object]:
    """Return a topology for JSON."""
    topology, verdict = judged.topology, judged.verdict
    return {
        "name": topology.name,
        "kind": topology.kind,
        "framework": topology.framework,
        "branch": topology.branch,
        "paths": _paths(judged),
        "components": [_component(node, judged.facts.get(node.id)) for node in topology.nodes],
        "edges": [_edge(edge) for edge in topology.edges],
        "config": [_setting(setting) for setting in topology.settings],
        "verdict": verdict.word,
        "lower": verdict.lower.value,
        "upper": verdict.upper.value,
        "may_lose": verdict.may_lose,
        "may_repeat": verdict.may_repeat,
        "spout_death": verdict.death,
        "boundary": verdict.boundary,
        "reasons": [_reason(reason) for reason in verdict.reasons],
        "broken_paths": [list(path) for path in verdict.broken_paths],
        "config_defects": [_defect(defect) for defect in defects_of(judged)],
        "gaps": [{"why": gap.why, **_place(gap.place)} for gap in gaps_of(judged)],
        "notes": list(verdict.notes),
    }


def _paths(judged: Judged) -> dict[str, list[str]]:
    topology = judged.topology
    files = {
        "topology": [
            topology.place.path,
            *(node.place.path for node in topology.nodes),
            *([] if topology.config is None else [topology.config.path]),
        ],
        "components": [
            path for node in topology.nodes if (path := code_of(node, judged.facts.get(node.id)).path)
        ],
        "config": [setting.place.path for setting in topology.settings],
    }
    return {kind: list(dict.fromkeys(filter(None, paths))) for kind, paths in files.items()}


def code_of(node: Node, facts: ComponentFacts | None) -> Place:
    """Return where the class of a component begins; a place without a path if that is not known."""
    return node.code or (facts.place if facts is not None else Place(""))


def _component(node: Node, facts: ComponentFacts | None) -> dict[str, object]:
    return {
        "id": node.id,
        "role": node.role,
        "class": node.cls,
        "line": node.place.line or None,
        "file": code_of(node, facts).path or None,
        "parallelism": node.parallelism,
        "facts": component_facts(node, facts),
    }


def component_facts(node: Node, facts: ComponentFacts | None) -> dict[str, object]:
    """Return what is known of a component; what is unknown has no key."""
    plain: dict[str, object] = {name: _plain_value(value) for name, value in node.arguments.items()}
    if node.unread:
        plain["unread"] = node.unread
    if facts is None:
        return plain
    ids = {emit.has_id for emit in facts.emits}
    anchors = sorted({emit.anchors.value for emit in facts.emits} - {Anchors.UNKNOWN.value})
    if facts.role == "spout":
        plain |= {"ids": ids == {True}} if ids and (ids == {True} or False in ids) else {}
        plain |= {} if facts.on_fail is OnFail.UNKNOWN else {"fail": facts.on_fail.value}
        plain |= {"source": facts.source} if facts.source else {}
        plain |= {} if facts.source_ack is SourceAck.UNKNOWN else {"source_ack": facts.source_ack.value}
        return plain
    plain |= {"anchors": anchors} if anchors else {}
    plain |= {} if facts.auto_ack is None else {"auto_ack": facts.auto_ack}
    plain |= {} if facts.completes is None else {"acks": facts.completes}
    plain |= {"acks_before_effect": str(facts.acks_early)} if facts.acks_early else {}
    plain |= {"keeps_in_memory": str(facts.keeps)} if facts.keeps else {}
    switches = {"stateful": facts.stateful, "windowed": facts.windowed, "holds": facts.holds}
    return plain | {name: True for name, value in switches.items() if value}


def _edge(edge: Edge) -> dict[str, object]:
    return {
        "from": edge.source,
        "to": edge.target,
        "stream": edge.stream,
        "grouping": edge.grouping,
        "line": edge.place.line or None,
    }


def _setting(setting: Setting) -> dict[str, object]:
    level = f"component {setting.component}" if setting.component else "topology"
    plain = {
        "key": setting.key,
        "value": _plain_value(setting.value),
        **_place(setting.place),
        "level": level,
    }
    return plain if setting.effective else {**plain, "without_effect": setting.why}


def _plain_value(value: Value) -> object:
    if isinstance(value, Gap):
        return {"unknown": value.why, **_place(value.place)}
    if isinstance(value, tuple):
        return [_plain_value(each) for each in value]
    if isinstance(value, dict):
        return {str(name): _plain_value(each) for name, each in value.items()}
    return value


def _reason(reason: Reason) -> dict[str, object]:
    return {
        "fact": reason.fact,
        "component": reason.component or None,
        **_place(reason.place),
        "why": reason.why,
        "sure": reason.sure,
    }


def _defect(defect: Defect) -> dict[str, object]:
    return {
        "kind": defect.kind,
        "component": defect.component or None,
        **_place(defect.place),
        "confidence": defect.sure,
        "why": defect.why,
    }


def _place(place: Place) -> dict[str, object]:
    return {"file": place.path or None, "line": place.line or None}
