"""Fixes: from a finding and its file to edits.

A fix changes no more text than it must.  It is proposed here and proven in `lint.repair`, which lints the edited files.
When in doubt there is no fix.  An edit of code that a component inherits or shares is unsafe: other components run it too.
"""

import codecs
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from ackdoctor.fixes import (
    anchors,
    completions,
    endless,
    ignores,
    java_anchors,
    java_paths,
    java_spouts,
    java_ticks,
    missing,
    moves,
    overwrites,
    payloads,
    python_paths,
    settings,
    spouts,
)
from ackdoctor.fixes.document import Document, Node
from ackdoctor.model.finding import Finding, Fix, PathWitness
from ackdoctor.rulebook import (
    ACK_AND_FAIL,
    ACK_IN_LOOP,
    ACK_WITH_AUTO_ACK,
    BLOCKING_NEXT_TUPLE,
    DEAD_SETTING,
    DOUBLE_ACK,
    EMIT_AFTER_ACK,
    ENDLESS_REPLAY,
    MISSING_ACK,
    PENDING_OVERWRITE,
    SPOUT_BUFFER_LEAK,
    SPOUT_EMIT_WITHOUT_ID,
    SPOUT_WITHOUT_REPLAY,
    SWALLOWED_FAILURE,
    TICK_COMPLETION,
    UNANCHORED_EMIT,
    UNBOUNDED_PENDING,
    UNSERIALISABLE_EMIT,
    UNUSED_IGNORE,
    WRONG_ANCHOR,
)

__all__ = ["FIXES", "Document", "fixes_of", "open_document"]

_Propose = Callable[[Finding, Document], Fix | None]

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
        moves.leave_after_failure,
        moves.ack_last,
    ),
    TICK_COMPLETION: (
        python_paths.leave_tick,
        python_paths.ack_everywhere,
        python_paths.complete_exit,
        python_paths.complete_branch,
        python_paths.complete_end,
        java_ticks.skip_ticks,
    ),
    UNANCHORED_EMIT: (anchors.add_anchor, java_anchors.anchor_in_handler, java_anchors.anchor_in_helper),
    EMIT_AFTER_ACK: (moves.leave_after_failure, moves.ack_behind_emit),
    BLOCKING_NEXT_TUPLE: (endless.return_each_round,),
    PENDING_OVERWRITE: (overwrites.fail_replaced,),
    UNBOUNDED_PENDING: (settings.bound_pending,),
    DEAD_SETTING: (settings.remove_setting,),
    WRONG_ANCHOR: (anchors.repair_arguments,),
    UNSERIALISABLE_EMIT: (payloads.convert_field,),
    SPOUT_EMIT_WITHOUT_ID: (spouts.pass_id, spouts.track),
    SPOUT_WITHOUT_REPLAY: (spouts.track,),
    SPOUT_BUFFER_LEAK: (
        spouts.forget,
        spouts.call_framework,
        java_spouts.forget_on_ack,
        java_spouts.forget_on_replay,
    ),
    ENDLESS_REPLAY: (spouts.limit,),
    UNUSED_IGNORE: (ignores.remove,),
}


def fixes_of(finding: Finding, document: Document) -> Iterator[Fix]:
    """Yield the fixes of a finding of lint, the best first; that of code that components share is unsafe."""
    if not isinstance(finding.evidence, PathWitness):
        return
    shared = bool(finding.home or finding.heritage)
    for propose in FIXES.get(finding.code, ()):
        fix = propose(finding, document)
        if fix is not None:
            yield replace(fix, safe=fix.safe and not shared)


def open_document(data: bytes, language: str) -> Document | None:
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
    return Document(text, encoding, mark, tree(text), java=language == "java") if exact else None


def _reader(language: str) -> tuple[Callable[[bytes], str], Callable[[str], Node | None]]:
    """Return what finds the encoding of a file and what parses it."""
    if language == "java":
        from ackdoctor.fixes import java_tree

        return java_tree.encoding_of, java_tree.tree
    if language == "python":
        from ackdoctor.fixes import python_tree

        return python_tree.encoding_of, python_tree.tree
    return (lambda _: "utf-8"), (lambda _: None)
