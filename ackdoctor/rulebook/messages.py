"""The catalogue: every message, help text and path note of every rule, once, for lint, traces, Spark and heaps alike.

A rule has one or more cases.  `words(MISSING_ACK, "one path", tup="`tup`", handler="CountBolt.process")` fills the
placeholders of one of them.  The price of a misuse depends on the dialect and is appended to the message by the caller.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

__all__ = [
    "ACK_AND_FAIL",
    "ACK_BEFORE_DONE",
    "ACK_IN_LOOP",
    "ACK_WITH_AUTO_ACK",
    "ASYNC_HANDLER",
    "BATCH_WITHOUT_TIMER",
    "BLOCKING_NEXT_TUPLE",
    "DOUBLE_ACK",
    "EMIT_AFTER_ACK",
    "ENDLESS_REPLAY",
    "EVICTING_BUFFER",
    "FLUSH_SLOWER_THAN_TIMEOUT",
    "MESSAGES",
    "MISSING_ACK",
    "NEVER_ZERO_ENTRY",
    "OFF_THREAD_COMPLETION",
    "ORPHAN_ENTRY",
    "PENDING_GROWTH",
    "PENDING_OVERWRITE",
    "PHRASES",
    "SPOUT_BUFFER_LEAK",
    "SPOUT_EMIT_WITHOUT_ID",
    "SPOUT_WITHOUT_REPLAY",
    "STDOUT_IN_MULTILANG",
    "SWALLOWED_FAILURE",
    "TICK_ANCHORED_EMIT",
    "TICK_COMPLETION",
    "UNANCHORED_EMIT",
    "UNDRAINED_BUFFER",
    "UNSERIALISABLE_EMIT",
    "UNUSED_IGNORE",
    "WRONG_ANCHOR",
    "Words",
    "phrase",
    "words",
]

MISSING_ACK = "ACK101"
SWALLOWED_FAILURE = "ACK102"
DOUBLE_ACK = "ACK103"
ACK_IN_LOOP = "ACK104"
ACK_WITH_AUTO_ACK = "ACK105"
ACK_AND_FAIL = "ACK106"
ACK_BEFORE_DONE = "ACK107"
OFF_THREAD_COMPLETION = "ACK108"
TICK_COMPLETION = "ACK109"
ASYNC_HANDLER = "ACK110"
UNANCHORED_EMIT = "ACK201"
EMIT_AFTER_ACK = "ACK202"
TICK_ANCHORED_EMIT = "ACK203"
WRONG_ANCHOR = "ACK204"
UNSERIALISABLE_EMIT = "ACK205"
STDOUT_IN_MULTILANG = "ACK206"
SPOUT_EMIT_WITHOUT_ID = "ACK301"
SPOUT_WITHOUT_REPLAY = "ACK302"
SPOUT_BUFFER_LEAK = "ACK303"
ENDLESS_REPLAY = "ACK304"
BLOCKING_NEXT_TUPLE = "ACK305"
UNDRAINED_BUFFER = "ACK401"
PENDING_OVERWRITE = "ACK402"
EVICTING_BUFFER = "ACK403"
BATCH_WITHOUT_TIMER = "ACK404"
FLUSH_SLOWER_THAN_TIMEOUT = "ACK504"
NEVER_ZERO_ENTRY = "ACK601"
ORPHAN_ENTRY = "ACK602"
PENDING_GROWTH = "ACK603"
UNUSED_IGNORE = "ACK901"


class Words(NamedTuple):
    """The words of one case: the message, the help text, and the note on the last step of the path ("" for none)."""

    message: str
    help: str = ""
    note: str = ""

    def fill(self, values: Mapping[str, object]) -> "Words":
        """The same words with the placeholders replaced."""
        return Words(*(template.format_map(values) for template in self))


_RETURNS = "returns to the framework"
_AUTO_FAILED = "the framework fails it"
_CALL_BASE = "call `super().{method}(...)`"
_LATE = "{roots} of {total} roots timed out, and their tuples were completed too late"
_LEFT_IN_SHELL = "only an ack or a fail removes them"

MESSAGES: Mapping[str, Mapping[str, Words]] = MappingProxyType(
    {
        MISSING_ACK: {
            "no path": Words(
                "no path through {handler} acks or fails {tup}",
                "ack {tup} when its work is done, fail it when it cannot be done",
                _RETURNS,
            ),
            "one path": Words(
                "{tup} leaves {handler} neither acked nor failed on this path",
                "ack {tup} on this path too, or fail it if its work is to be tried again",
                _RETURNS,
            ),
            "dropped": Words(
                "a tuple in `{field}` is dropped here, neither acked nor failed",
                "fail the tuples in `{field}` before this line, or leave them there for the next flush",
                "dropped",
            ),
            "run": Words(
                "{tup} leaves {handler} neither acked nor failed",
                "ack {tup} when its work is done, fail it when it cannot be done",
            ),
        },
        SWALLOWED_FAILURE: {
            "": Words(
                "this handler hides that the work for {tup} failed, and {tup} is acked",
                "{advice}",
                "acked although its work failed",
            ),
        },
        DOUBLE_ACK: {
            "": Words("{tup} is acked a second time", "{or_leave}ack {tup} in one place only", "acked again"),
            "kept": Words(
                "every tuple of `{field}` is acked here and stays in it: the next flush acks it again",
                "clear `{field}` after this loop",
                "returns, and `{field}` keeps the acked tuples",
            ),
            "death": Words(
                "it acks a tuple that ShellBolt no longer knows, for example after a first ack, and the worker exits: "
                "every tuple in flight in it times out"
            ),
        },
        ACK_IN_LOOP: {
            "": Words(
                "{tup} is completed again in every iteration of the loop",
                "complete {tup} after the loop, not in it",
                "completed again in the next iteration",
            ),
        },
        ACK_WITH_AUTO_ACK: {
            "": Words("{tup} is {done} by hand and {framework} acks it as well", "{advice}"),
        },
        ACK_AND_FAIL: {
            "": Words(
                "{tup} is {then} although it was already {first}",
                "{leave} the first completion, so that {tup} is completed once",
                "{then} as well",
            ),
            "exception": Words(
                "{exception} leaves the handler after {tup} was {done}{where}, and the framework fails it again",
                "{advice}",
                _AUTO_FAILED,
            ),
            "finally": Words(
                "`finally` completes {tup} while an exception leaves the handler, and the framework fails it again",
                "{advice}",
                _AUTO_FAILED,
            ),
            "death": Words(
                "it fails a tuple that ShellBolt no longer knows, for example after an ack, and the worker exits: "
                "every tuple in flight in it times out"
            ),
        },
        ACK_BEFORE_DONE: {
            "auto-ack": Words(
                "{tup} is acked when {handler} returns, while the work that {call} starts still runs",
                "{by_hand}: keep tuple and future together and complete them at a later tick; or wait first",
                "the framework acks before the work is done",
            ),
            "": Words(
                "{tup} is acked while the work that {call} started on {line} still runs{again}",
                "wait for the result first, or keep tuple and future together and complete them at a later tick",
                "acked before the work is done",
            ),
            "finally": Words(
                "`finally` acks {tup} although an exception leaves the handler",
                "{advice}",
                "the exception leaves the handler, the ack is sent",
            ),
        },
        OFF_THREAD_COMPLETION: {
            "": Words("this {does} on {thread}", "{advice}", "{does} off the framework's thread"),
        },
        TICK_COMPLETION: {
            "twice": Words("the tick is {done} by hand, and {reason}", "remove this call", "tick {done}"),
            "twice in override": Words(
                "the tick is {done} by hand, and {reason}", "remove this call", "tick completed again"
            ),
            "never": Words(
                "the tick leaves {handler} without an ack",
                "ack {tup}: a bolt that acks by hand acks its ticks too",
                _RETURNS,
            ),
            "heartbeat": Words(
                "the heartbeat is not answered with a sync: before {version} the worker exits with "
                '"subprocess heartbeat timeout"',
                "use {version} or later, which answers heartbeats itself, and remove this branch; "
                "never ack or fail a heartbeat",
                "returns to the framework without a sync",
            ),
            "no handler": Words(
                "{component} enables ticks and acks by hand, but has no {method} to ack them",
                "override {method} and ack the tick there",
                "ticks arrive and are never acked",
            ),
            "owned method": Words(
                "{component}.{method} replaces the framework's own {method}: {damage}",
                f"{_CALL_BASE}, or do this work in another method",
                "replaces the framework's own method",
            ),
            "data": Words(
                "{component} enables ticks, and {handler} reads every tuple as data",
                "{advice}",
                "ticks arrive here too",
            ),
        },
        ASYNC_HANDLER: {
            "": Words(
                "{handler} is {kind} and its body never runs",
                "make it a plain method; run asynchronous work to its end inside it",
                "the call only creates {kind}",
            ),
        },
        UNANCHORED_EMIT: {
            "": Words("this emit is not anchored to {tup}", "{advice}", "emitted without anchor"),
        },
        EMIT_AFTER_ACK: {
            "": Words(
                "this emit {is_anchored} to {tup}, which was {done}{where}",
                "{advice}",
                "emitted, anchored to a tuple already {done}",
            ),
            "death": Words(
                "it anchors to a tuple that was already acked or failed, and the worker exits: "
                "every tuple in flight in it times out"
            ),
        },
        TICK_ANCHORED_EMIT: {
            "": Words(
                "rows kept in `{field}` are emitted at a tick and not anchored to the tuples they came from",
                "{by_hand}keep the tuples themselves, emit with them as anchors and ack them afterwards",
                "emitted, anchored to no input tuple",
            ),
        },
        WRONG_ANCHOR: {
            "positional": Words(
                "`{verb}` of a batching bolt takes one positional argument",
                "name the others: `stream=...`, `anchors=...`",
                "emitted here",
            ),
            "payload": Words(
                "this emits the tuple `{name}` itself, not its values",
                "emit `{name}.values`, or a list of the fields you mean",
                "emitted here",
            ),
            "stream": Words(
                "argument {position} of `{verb}` is the stream, and this is a tuple or a list: "
                "a stream is named by a string, and no stream has this name",
                "pass it as `{anchors}=`",
                "emitted here",
            ),
            "ignored": Words(
                "`{anchors}` has no effect in a {role}",
                "leave it out; if you need other anchors, derive from Bolt and complete every tuple by hand",
                "emitted here",
            ),
            "none": Words("`{anchors}` is None", "leave `{anchors}` out, or pass a list", "emitted here"),
            "tuple": Words(
                "`{anchors}` is {what} instead of a list of tuples",
                "pass `{anchors}=[{value}]`",
                "emitted here",
            ),
            "id": Words(
                "`{anchors}` is {what} instead of a list of tuples",
                "pass the tuple in a list: `{anchors}=[{value}]`",
                "emitted here",
            ),
            "list of ids": Words(
                "`{anchors}` holds the id of `{value}` instead of the tuple",
                "pass `{anchors}=[{value}]`",
                "emitted here",
            ),
            "nested": Words(
                "`{anchors}` is a list that holds the list `{value}`",
                "pass `{anchors}={value}`",
                "emitted here",
            ),
        },
        UNSERIALISABLE_EMIT: {
            "shape": Words(
                "the payload is {what} instead of a list of fields",
                "put it in a list, one element for each declared field",
                "emitted here",
            ),
            "value": Words(
                "the payload holds {what} that {serializer} cannot carry", "{advice}", "emitted here"
            ),
        },
        STDOUT_IN_MULTILANG: {
            "": Words(
                "`{call}` writes to the pipe between {component} and Storm",
                "use the framework's log, or print to `sys.stderr`",
                "written here",
            ),
        },
        SPOUT_EMIT_WITHOUT_ID: {
            "": Words("this emit passes no message id{reason}", "{advice}", "emitted without message id"),
        },
        SPOUT_WITHOUT_REPLAY: {
            "": Words(
                "this emit passes a message id, but {reason}: every failed or timed-out tuple is lost",
                "keep the record until `ack` and send it again in `fail`, a few times at most; "
                "or leave the id out if losing it is fine",
                "emitted with a message id",
            ),
        },
        SPOUT_BUFFER_LEAK: {
            "": Words(
                "`{field}` gets an entry for every tuple and loses none when the tuple is acked: "
                "it grows for the life of the spout",
                "remove the entry from `{field}` in `ack`",
                "stored here",
            ),
            "new id": Words(
                "`{field}` gets an entry under a new id for every failure and keeps the one under the old id: "
                "it grows with every replay",
                "remove the old entry from `{field}` in `fail`",
                "stored here",
            ),
            "owned method": Words(
                "`{method}` of {component} does not call the one of {role}: {damage}",
                f"{_CALL_BASE} as well",
                "defined here",
            ),
            "heap": Words(
                "the spout keeps the messages it emitted, and acks do not remove them",
                "remove the message from the field when ack is called with its id",
            ),
        },
        ENDLESS_REPLAY: {
            "": Words(
                "`fail` of {component} {does} every time: a record that can never succeed is replayed "
                "for the life of the topology{price}",
                "count the failures of each id; after a few, write the record to a dead-letter store and forget it",
                "sent again",
            ),
        },
        BLOCKING_NEXT_TUPLE: {
            "": Words(
                "`{method}` of {component} never returns from this loop",
                "emit what is there and return; the framework calls again at once",
                "emits and repeats: nothing leaves the loop",
            ),
        },
        UNDRAINED_BUFFER: {
            "": Words(
                "{tup} is stored in `{field}`, and {component} never acks or fails it",
                "ack or fail the tuples of `{field}` when their work is done, before you drop them",
                "stored in {field}",
            ),
            "heap": Words(
                "a field of the bolt holds tuples that it has neither acked nor failed",
                "complete what the field holds before it is dropped, at a tick or when it is full",
            ),
            "shell": Words(
                "ShellBolt keeps tuples that its component has neither acked nor failed{ticks}: "
                + _LEFT_IN_SHELL,
                "lint the component for a path without ack, a buffer that is never drained, or ticks that are never acked",
            ),
            "histogram": Words(
                "the inputs of a ShellBolt grow in every histogram: " + _LEFT_IN_SHELL,
                "ackdoctor lint on the components: a path without ack, a buffer that is never drained, ticks",
            ),
        },
        PENDING_OVERWRITE: {
            "": Words(
                "a tuple that waits in `{field}` under the same key is dropped un-acked",
                "look up the key in `{field}` first, and ack or fail the tuple there; or keep a list per key",
                "replaces what {field} held under that key",
            ),
        },
        EVICTING_BUFFER: {
            "": Words(
                "`{field}` is {what}: tuples that it evicts are neither acked nor failed",
                "fail the tuples that `{field}` evicts, or use a container without a limit and bound it at the spout",
                "stored in {field}",
            ),
        },
        BATCH_WITHOUT_TIMER: {
            "full": Words(
                "the tuples of `{field}` are completed only when this limit is reached",
                "flush at a tick too{and_ack}, well within topology.message.timeout.secs",
                "below the limit they wait until they time out",
            ),
            "join": Words(
                "an entry of `{field}` leaves only when it is complete: if its last part never comes, it stays for ever, "
                "and its other parts are acked",
                "at a tick, emit or report an incomplete entry some time after its first part",
                "entry of {field} created here",
            ),
            "no ticks": Words(
                "{component} processes its batches at ticks, and the project sets no tick frequency",
                "{advice}",
                "batches wait for ticks",
            ),
            "run": Words("{component} processes its batches later, and never processed {tup}", "{advice}"),
        },
        FLUSH_SLOWER_THAN_TIMEOUT: {
            "hold": Words(f"it holds tuples for up to {{time}}, longer than {{limit}}: {_LATE}", "{advice}"),
            "several hold": Words(
                f"{{components}} each hold tuples for longer than {{limit}}: {_LATE}", "{advice}"
            ),
            "queue": Words(
                f"tuples wait for up to {{time}} before it receives them, longer than {{limit}}: {_LATE}",
                "give {component} more executors, or lower topology.max.spout.pending: the tuples wait in its queue",
            ),
            "path": Words(
                "tuples take longer than {limit} on the way through {components}, and no bolt alone holds them so long: "
                + _LATE,
                "shorten the slowest step, lower topology.max.spout.pending where tuples wait, or {longer}",
            ),
            "early": Words(
                f"the spout drops roots {{time}} after their emit, before {{limit}}: {_LATE}",
                "give each spout executor one task: before Storm 2.8.0 an executor with several rotates its map "
                "once for each (STORM-3693)",
            ),
        },
        NEVER_ZERO_ENTRY: {
            "trace": Words("the acker keeps an entry that {never}: {blame}; it {stays}", "{advice}"),
            "heap": Words(
                "the acker keeps entries that are not zero at the end: such an entry {stays}",
                "the tuples acked an even number of times, or never, are named where the components are traced",
            ),
            "dump": Words(
                "the acker keeps entries that never became zero, {known}: a tuple of the tree was never acked, "
                "or an even number of times; such an entry {stays}",
                "to name the tuple, add --trace with a trace of the run or a worker's log with topology.debug; "
                "or lint the source",
            ),
        },
        ORPHAN_ENTRY: {
            "trace": Words(
                "the acker keeps an entry that no spout waits for: {reason}; it {stays}", "{advice}"
            ),
            "dump": Words(
                "the acker keeps entries that no spout waits for, most likely because {reason}; such an entry {stays}",
                "lint the source for a second ack; an orphan alone proves no fault while trees fail or time out",
            ),
        },
        PENDING_GROWTH: {
            "trace": Words(
                "the pending map grows in every window although the load does not: an entry {stays}",
                "the never-zero entries and orphans of this run name what is acked again or never",
            ),
            "heap": Words(
                "the pending map grows from snapshot to snapshot: an entry {stays}",
                "fix the other findings first; an entry for each root in flight is no leak",
            ),
            "dump": Words(
                "the acker's map does not rotate: entries are older than rotation allows, so the map grows "
                "until the worker restarts",
                "Storm 0.9 to 1.1.1 never rotates it (STORM-2786): upgrade; in 2.x enable message timeouts",
            ),
            "histogram": Words(
                "the acker's pending map grows in every histogram: an entry {stays}",
                "take a dump and read it: ackdoctor heap dump worker.hprof",
            ),
            "histogram of a spout": Words(
                "the pending map of a spout grows in every histogram: its messages come faster than they are acked, "
                "or are never acked, and an entry stays until an answer or a timeout",
                "set topology.max.spout.pending; if it grows past what a message timeout explains, ackdoctor lint "
                "the bolts: a path without ack",
            ),
        },
        UNUSED_IGNORE: {
            "unknown word": Words(
                "`ackdoctor: {word}` means nothing, so it silences nothing", "write {example}"
            ),
            "no rule": Words("`{written}` names no rule, so it silences nothing", "write {example}"),
            "unknown rule": Words("`{written}`: there is no rule `{name}`{hint}", "write {example}"),
            "no reason": Words("`{written}` gives no reason", "write {example}"),
            "not at top": Words(
                "`{written}` silences nothing here: it belongs above the first {top} of the file",
                "write {example}",
            ),
            "unused": Words("`{written}` silences nothing{which}", "remove it"),
        },
    }
)

PHRASES: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        MISSING_ACK: {
            "completed by id": "give `{verb}` the tuple, not its id (line {line}): {price}",
        },
        DOUBLE_ACK: {
            "leave": "{leave} the first ack{where}, or ",
        },
        ACK_WITH_AUTO_ACK: {
            "note": "{done} by hand",
            "note of the framework": "the framework acks it",
        },
        ACK_AND_FAIL: {
            "implicit exception": "if {call} raises, the exception",
            "auto-ack": "remove the call by hand: the exception alone fails {tup}{exit}",
            "auto-ack by hand": "{by_hand}, and return instead of raising",
            "failed": "return instead of raising: {tup} is failed already",
            "throw": "fail {tup} and return instead of raising, and ack it only after the last line that can raise",
            "call": "ack {tup} after {call}, and catch what that raises: fail {tup} there and return",
            "run": "complete {tup} after the last line that can raise; catch what that line raises, fail {tup} and return",
        },
        ACK_BEFORE_DONE: {
            "again": ", and {does} it on line {line} ({price})",
        },
        OFF_THREAD_COMPLETION: {
            "thread": "a thread that `{runner}` started on line {line}",
            "another thread": "a thread other than the one that talks to Storm",
        },
        TICK_COMPLETION: {
            "framework": "the framework acks it",
            "forbidden": "ticks are not completed here",
        },
        UNANCHORED_EMIT: {
            "early": "emit before {tup} is completed, and ",
            "anchor": "pass `{anchors}={value}`, or `{anchors}=[]` if the new tuple needs no replay",
        },
        EMIT_AFTER_ACK: {
            "emit first": "emit first, then complete {tup}",
            "by hand": "{by_hand}: complete {tup} after this emit",
            "no anchor": "leave the anchor out: {framework} acks {tup} by itself",
        },
        UNSERIALISABLE_EMIT: {
            "plain": "emit plain values only",
            "sequence": "emit `sorted(...)` or `list(...)` of it",
            "iterator": "emit `list(...)` of it",
            "datetime": "emit `.isoformat()` or a timestamp",
            "date": "emit `.isoformat()`",
            "duration": "emit `.total_seconds()`",
            "text": "emit `str(...)` of it",
            "bytes": "decode it first",
        },
        SPOUT_EMIT_WITHOUT_ID: {
            "pass": (
                "pass {message_id} with the source's key of the record, and send the record again in `fail`, "
                "a few times at most"
            ),
            "stream": "argument {position} of `{verb}` is the stream: pass `{message_id}={value}`",
            "waits": ", although {component} has `{method}`, which waits for it",
            "logs": ", although {component} has `{method}`, which logs it",
            "unused": ", although `{name}` looks like one",
            "keeps": ", although the spout keeps the records it emitted",
        },
        SPOUT_WITHOUT_REPLAY: {
            "acked": "`fail` of {component} calls `{call}` as `ack` does",
            "dropped": "`fail` of {component} drops the record",
            "missing": "{component} has no `fail`",
            "idle": "`fail` of {component} does nothing about it",
        },
        ENDLESS_REPLAY: {
            "emits": "emits the tuple again",
            "queues": "puts the record back into `{field}`",
            "leaks": ", and each time leaves an entry in `{field}`",
            "stays": ", and its entry in `{field}` stays",
        },
        BATCH_WITHOUT_TIMER: {
            "and ack": ", and ack the tick",
            "set": "set {setting} in the class's config or in the topology",
            "run ends": "let the component process its batch before the run ends",
        },
        FLUSH_SLOWER_THAN_TIMEOUT: {
            "burst": "flush more often, well within {limit}, or {longer}",
            "hold": (
                "complete each tuple well within {limit} (more executors, where tuples queue up inside the bolt), "
                "or {longer}"
            ),
            "longer": "set topology.message.timeout.secs to more than {seconds}",
        },
        NEVER_ZERO_ENTRY: {
            "proved": "can never become zero",
            "open": "is not zero at the end",
            "no culprit": "trace the components as well: their acks carry the value that is left",
            "lost": (
                "the components did their part: look for messages that Netty dropped between workers, for a worker "
                "that was started again, and for a log that is missing"
            ),
            "culprits": "complete each tuple exactly once: the value left is what its ack sends",
        },
        ORPHAN_ENTRY: {
            "suspicious": "look for a tuple that is acked again, or used as an anchor, after its ack",
            "harmless": "fix what fails and times out first: an orphan alone proves no misuse",
        },
    }
)


def words(code: str, case: str = "", /, **values: object) -> Words:
    """The words of one case of a rule, with the placeholders replaced."""
    return MESSAGES[code][case].fill(values)


def phrase(code: str, name: str, /, **values: object) -> str:
    """A part of a sentence of a rule, with the placeholders replaced."""
    return PHRASES[code][name].format_map(values)
