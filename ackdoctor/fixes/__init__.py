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
    ignores,
    java_paths,
    missing,
    moves,
    payloads,
    python_paths,
    spouts,
)
from ackdoctor.fixes.document import Document
from ackdoctor.model.finding import Finding, Fix, PathWitness
from ackdoctor.rulebook import (
    ACK_AND_FAIL,
    ACK_IN_LOOP,
    ACK_WITH_AUTO_ACK,
    DOUBLE_ACK,
    EMIT_AFTER_ACK,
    ENDLESS_REPLAY,
    MISSING_ACK,
    SPOUT_BUFFER_LEAK,
    SPOUT_EMIT_WITHOUT_ID,
    SPOUT_WITHOUT_REPLAY,
    SWALLOWED_FAILURE,
    TICK_COMPLETION,
    UNANCHORED_EMIT,
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
    ),
    UNANCHORED_EMIT: (anchors.add_anchor,),
    EMIT_AFTER_ACK: (moves.leave_after_failure, moves.ack_behind_emit),
    WRONG_ANCHOR: (anchors.repair_arguments,),
    UNSERIALISABLE_EMIT: (payloads.convert_field,),
    SPOUT_EMIT_WITHOUT_ID: (spouts.pass_id, spouts.track),
    SPOUT_WITHOUT_REPLAY: (spouts.track,),
    SPOUT_BUFFER_LEAK: (spouts.forget, spouts.call_framework),
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


def open_document(data: bytes, *, java: bool) -> Document | None:
    """Return a Java or Python file as a document; None for a text that does not decode exactly."""
    if java:
        from ackdoctor.fixes.java_tree import encoding_of, tree
    else:
        from ackdoctor.fixes.python_tree import encoding_of, tree
    mark = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
    body = data.removeprefix(mark)
    encoding = encoding_of(body)
    try:
        text = body.decode(encoding)
        exact = text.encode(encoding) == body
    except ValueError:
        return None
    return Document(text, encoding, mark, tree(text), java=java) if exact else None
