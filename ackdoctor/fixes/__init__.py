"""Fixes: from a finding and its file to edits.

A fix changes no more text than it must.  It is proposed here and proven in `lint.repair`, which lints the edited files.
When in doubt there is no fix.  An edit of code that a component inherits or shares is unsafe: other components run it too.
"""

import codecs
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from ackdoctor.fixes import (
    completions,
    emits,
    endless,
    java_paths,
    java_spouts,
    missing,
    python_paths,
    settings,
    spouts,
)
from ackdoctor.fixes.document import Document, Node, NoFix
from ackdoctor.model.finding import Finding, Fix, PathWitness
from ackdoctor.rulebook import (
    ACK_AND_FAIL,
    ACK_BEFORE_DONE,
    ACK_IN_LOOP,
    ACK_WITH_AUTO_ACK,
    ACKERS_ZERO,
    ASYNC_HANDLER,
    BATCH_WITHOUT_TICKS,
    BATCH_WITHOUT_TIMER,
    BLOCKING_NEXT_TUPLE,
    BROKEN_WIRING,
    DEAD_SETTING,
    DOUBLE_ACK,
    EMIT_AFTER_ACK,
    ENDLESS_REPLAY,
    EVICTING_BUFFER,
    FLUSH_SLOWER_THAN_TIMEOUT,
    MISSING_ACK,
    NEVER_ZERO_ENTRY,
    OFF_THREAD_COMPLETION,
    ORPHAN_ENTRY,
    PENDING_GROWTH,
    PENDING_OVERWRITE,
    SPOUT_BUFFER_LEAK,
    SPOUT_EMIT_WITHOUT_ID,
    SPOUT_WITHOUT_REPLAY,
    STDOUT_IN_MULTILANG,
    SWALLOWED_FAILURE,
    TICK_ANCHORED_EMIT,
    TICK_COMPLETION,
    TIMEOUTS_DISABLED,
    UNANCHORED_EMIT,
    UNBOUNDED_PENDING,
    UNDECLARED_EMIT,
    UNDRAINED_BUFFER,
    UNSERIALISABLE_EMIT,
    UNUSED_IGNORE,
    WEAK_GUARANTEE,
    WRONG_ANCHOR,
)

__all__ = [
    "CONSEQUENCES",
    "FIXES",
    "NO_FIX",
    "SAFE",
    "Document",
    "described",
    "fixes_of",
    "kinds_of",
    "open_document",
]

_Propose = Callable[[Finding, Document], Fix]  # raises NoFix

FIXES: Mapping[str, tuple[_Propose, ...]] = {  # in the order in which they are tried
    MISSING_ACK: (
        python_paths.pass_tuple,
        python_paths.ack_everywhere,
        python_paths.complete_exit,
        python_paths.complete_handler,
        python_paths.complete_branch,
        python_paths.complete_end,
        java_paths.fail_in_catch,
        java_paths.fail_and_ack_last,
        missing.complete_path,
        java_paths.finish_early,
        java_paths.complete_branch,
        java_paths.ack_at_the_end,
    ),
    SWALLOWED_FAILURE: (
        missing.fail_in_handler,
        python_paths.fail_by_hand,
        java_paths.ack_behind_finally,
        java_paths.throw_failed,
    ),
    DOUBLE_ACK: (completions.complete_once,),
    ACK_IN_LOOP: (completions.complete_element, completions.move_behind_loop),
    ACK_WITH_AUTO_ACK: (completions.leave_to_framework, python_paths.complete_by_hand),
    ACK_AND_FAIL: (
        completions.complete_once,
        completions.fail_or_ack,
        completions.leave_after_failure,
        completions.ack_last,
    ),
    TICK_COMPLETION: (
        python_paths.leave_tick,
        python_paths.ack_everywhere,
        python_paths.complete_exit,
        python_paths.complete_branch,
        python_paths.complete_end,
        java_paths.skip_ticks,
    ),
    UNANCHORED_EMIT: (emits.add_anchor, emits.anchor_in_handler, emits.anchor_in_helper),
    EMIT_AFTER_ACK: (completions.leave_after_failure, completions.ack_behind_emit),
    BLOCKING_NEXT_TUPLE: (endless.return_each_round,),
    PENDING_OVERWRITE: (missing.fail_replaced,),
    UNBOUNDED_PENDING: (settings.bound_pending,),
    DEAD_SETTING: (settings.remove_setting, settings.submit_settings),
    WRONG_ANCHOR: (emits.repair_arguments,),
    UNSERIALISABLE_EMIT: (emits.convert_field,),
    SPOUT_EMIT_WITHOUT_ID: (spouts.pass_id, spouts.track, java_spouts.track, java_spouts.track_all),
    SPOUT_WITHOUT_REPLAY: (spouts.track, java_spouts.track),
    SPOUT_BUFFER_LEAK: (
        spouts.forget,
        spouts.call_framework,
        java_spouts.forget_on_ack,
        java_spouts.forget_on_replay,
    ),
    ENDLESS_REPLAY: (spouts.limit, java_spouts.limit),
    UNUSED_IGNORE: (settings.remove_ignore,),
}


SAFE: Mapping[str, tuple[_Propose, ...]] = {  # the others are unsafe; these too in code that components share
    MISSING_ACK: (python_paths.pass_tuple,),
    DOUBLE_ACK: (completions.complete_once,),
    ACK_WITH_AUTO_ACK: (completions.leave_to_framework,),
    ACK_AND_FAIL: (completions.complete_once, completions.leave_after_failure),
    TICK_COMPLETION: FIXES[TICK_COMPLETION][:-1],
    UNANCHORED_EMIT: (emits.add_anchor, emits.anchor_in_handler),
    EMIT_AFTER_ACK: (completions.leave_after_failure,),
    WRONG_ANCHOR: FIXES[WRONG_ANCHOR],
    UNSERIALISABLE_EMIT: FIXES[UNSERIALISABLE_EMIT],
    SPOUT_BUFFER_LEAK: (spouts.call_framework,),
    UNUSED_IGNORE: FIXES[UNUSED_IGNORE],
}

CONSEQUENCES = frozenset((UNBOUNDED_PENDING,))  # what a spout that replays may make its topology report

NO_FIX: Mapping[str, str] = {
    ACK_BEFORE_DONE: "the tuple must wait for the work: a queue between the threads",
    OFF_THREAD_COMPLETION: "the work must come back to the handler's thread: a queue",
    ASYNC_HANDLER: "the body must be written without `await` or `yield`",
    TICK_ANCHORED_EMIT: "the bolt must keep each tuple until the tick",
    STDOUT_IN_MULTILANG: "where the text goes is open: a log file, a logger, standard error",
    UNDECLARED_EMIT: "the emit or the declaration may be wrong",
    UNDRAINED_BUFFER: "when the buffer is sent is a decision",
    EVICTING_BUFFER: "another container, or a way to complete what it drops",
    BATCH_WITHOUT_TIMER: "how long a tuple may wait is a decision",
    ACKERS_ZERO: "either the guarantee or the setting is meant",
    TIMEOUTS_DISABLED: "the right timeout depends on the topology",
    FLUSH_SLOWER_THAN_TIMEOUT: "the flush or the timeout may be wrong",
    BROKEN_WIRING: "which name or field is meant is open",
    BATCH_WITHOUT_TICKS: "how long a tuple may wait is a decision",
    WEAK_GUARANTEE: "the guarantee follows from the whole topology",
    NEVER_ZERO_ENTRY: "it is a fact of a heap or a run",
    ORPHAN_ENTRY: "it is a fact of a heap or a run",
    PENDING_GROWTH: "it is a fact of a heap or a run",
}


def kinds_of(code: str) -> str:
    """Return the kinds of fixes that a rule has: "safe", "unsafe", "safe, unsafe" or "none"."""
    safe, unsafe = (
        any((each in SAFE.get(code, ())) is kind for each in FIXES.get(code, ())) for kind in (True, False)
    )
    return ", ".join(word for word, has in (("safe", safe), ("unsafe", unsafe)) if has) or "none"


def described(code: str, *, safe: bool) -> list[str]:
    """Return what the safe or the unsafe fixes of a rule do."""
    chosen = (each for each in FIXES.get(code, ()) if (each in SAFE.get(code, ())) is safe)
    lines = ((each.__doc__ or "").partition("\n")[0].rstrip(".") for each in chosen)
    return list(dict.fromkeys(lines))  # both languages may have the same fix


def fixes_of(finding: Finding, document: Document) -> Iterator[Fix]:
    """Yield the fixes of a finding of lint, the best first; that of code that components share is unsafe."""
    if not isinstance(finding.evidence, PathWitness):
        return
    shared = bool(finding.home or finding.heritage)
    for propose in FIXES.get(finding.code, ()):
        try:
            fix = propose(finding, document)
        except NoFix:
            continue
        if not (document.java and _breaks(document, fix)):
            yield replace(fix, safe=fix.safe and not shared and propose in SAFE.get(finding.code, ()))


def _breaks(document: Document, fix: Fix) -> bool:
    """Whether javac would reject an edited file for code that it accepts before."""
    from ackdoctor.fixes.java_compile import faults

    text, inserted, moved = document.text, [], 0
    for edit in sorted(fix.edits):
        start, end = document.offset(*edit.span[:2]) + moved, document.offset(*edit.span[2:]) + moved
        text = f"{text[:start]}{edit.text}{text[end:]}"
        inserted.append((start, start + len(edit.text)))
        moved += len(edit.text) - (end - start)
    return len(faults(text, inserted)) > len(faults(document.text, ()))


def open_document(
    data: bytes, language: str, *, on_missing_path: str = "", place: Path | None = None
) -> Document | None:
    """Return a file as a document, "text" without a tree; None for one that does not decode exactly."""
    encoding_of, tree = _reader(language)
    mark = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
    body = data.removeprefix(mark)
    encoding = encoding_of(body)
    try:
        text = body.decode(encoding)
        exact = text.encode(encoding) == body
    except ValueError:
        return None
    if not exact:
        return None
    return Document(
        text,
        encoding,
        mark,
        tree(text),
        java=language == "java",
        on_missing_path=on_missing_path,
        place=place,
    )


def _reader(language: str) -> tuple[Callable[[bytes], str], Callable[[str], Node | None]]:
    """Return what finds the encoding of a file and what parses it."""
    if language == "java":
        from ackdoctor.fixes import java_tree

        return java_tree.encoding_of, java_tree.tree
    if language == "python":
        from ackdoctor.fixes import python_tree

        return python_tree.encoding_of, python_tree.tree
    return (lambda _: "utf-8"), (lambda _: None)
