"""What workers and components say before they die or stand still: the words, the likely causes in order, what to do next.

The words are Storm's own (as in `ackdoctor/lab/shell`), those of its queues, its Kafka spout, and of the JVM.
The table is searched from the top: what stands first is more telling.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ackdoctor.model.cause import Cause

__all__ = ["SYMPTOMS", "Symptom"]


_GROUP = r"\((?:[^()\\]|\\.|\((?:[^()\\]|\\.|\([^()]*\))*\))*\)"  # three deep
_ALTERNATIVES = re.compile(rf"(?:[^|()\\]|\\.|{_GROUP})+")
_PLAIN = re.compile(r"(?:[\w #':-](?![?*{]))*")


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Symptom:
    """One thing that is said: how it is recognised, what it means, its causes, and the commands that come next.

    With a `frame` it is told where one of the stack's lines below it matches that, or where no stack is given; where the
    words are `vague` only with the stack.  A `wrapper` only says that something died: it is told of what nothing else
    explains.  `fatal` if the worker does not survive it.
    """

    name: str
    pattern: str
    frame: str = ""
    vague: bool = False
    says: str
    causes: tuple[Cause, ...]
    next: tuple[str, ...] = ()
    fatal: bool = True
    wrapper: bool = False

    @property
    def words(self) -> Sequence[str]:
        """What the pattern's alternatives begin with, as far as it is plain text: a line without any of these is none of its own.

        Asking for a text is ten times as fast as a search, and few lines of a log tell anything.
        """
        return [_PLAIN.match(each)[0] for each in _ALTERNATIVES.findall(self.pattern)]  # type: ignore[index]


_SHELL = r"\bmultilang\.|\bShell(?:Process|Bolt|Spout)\b"  # the worker's side of the pipe to a component
# what was thrown, not what wraps it; the words come first, since Python's search is fast for those that begin with some
_NULL = r"java\.lang\.NullPointerException(?:(?<!: java\.lang\.NullPointerException)|(?<=Caused by: java\.lang\.NullPointerException))"


def _cause(text: str, *rules: str, law: str = "") -> Cause:
    return Cause(text=text, law=law, rules=rules)


SYMPTOMS: tuple[Symptom, ...] = (
    Symptom(
        name="acked twice",
        pattern=r"Acked (?:\(or Failed\) )?a non-existent or already acked/failed id(?:: ?(?P<id>\S*))?",
        says="a component acked a tuple that ShellBolt no longer knows; the bolt dies and the worker exits",
        causes=(
            _cause("an explicit ack or fail in a bolt that acks by itself (auto_ack, BasicBolt)", "ACK105"),
            _cause("a path fails the tuple and goes on into the ack, or acks it twice", "ACK106", "ACK103"),
            _cause("an ack in a loop, once per item", "ACK104"),
            _cause("a tick acked by hand where the framework acks it", "ACK109"),
            _cause("an id that the serializer changed: msgpack under PyPy, a number for a string"),
        ),
        next=(
            "ackdoctor lint --select ACK103,ACK104,ACK105,ACK106,ACK109 SOURCES",
            "pytest --ackdoctor   shows both acks, with their lines",
        ),
    ),
    Symptom(
        name="failed twice",
        pattern=r"Failed a non-existent or already acked/failed id(?:: ?(?P<id>\S*))?",
        says="a component failed a tuple that ShellBolt no longer knows; the bolt dies and the worker exits",
        causes=(
            _cause("an exception after the ack, and the framework fails the tuple (auto_fail)", "ACK106"),
            _cause("a fail in `except` after an ack in `try`", "ACK106"),
            _cause("an explicit fail in a bolt that completes by itself", "ACK105"),
        ),
        next=("ackdoctor lint --select ACK105,ACK106 SOURCES", "pytest --ackdoctor"),
    ),
    Symptom(
        name="anchored too late",
        pattern=r"Anchored onto (?P<id>\S+) after ack/fail",
        says="an emit names an anchor that has been acked or failed; the bolt dies and the worker exits",
        causes=(
            _cause("an emit after the ack of its anchor", "ACK202"),
            _cause("an emit from a thread or a tick, with a stored tuple as its anchor", "ACK108", "ACK203"),
            _cause("an anchor that is an id, or no list", "ACK204"),
        ),
        next=("ackdoctor lint --select ACK202,ACK203,ACK204,ACK108 SOURCES", "pytest --ackdoctor"),
    ),
    Symptom(
        name="heartbeat timeout",
        pattern=r"subprocess heartbeat timeout",
        says="a component has not answered a heartbeat in time; the worker exits",
        causes=(
            _cause("one call of `process` takes longer than topology.subprocess.timeout.secs", "ACK404"),
            _cause(
                "a spout's `next_tuple` never returns, and for that long there was nothing to emit", "ACK305"
            ),
            _cause("it blocks on a pipe that nobody reads: output on stdout or stderr", "ACK206"),
            _cause("it is busy while it starts"),
        ),
        next=(
            "ackdoctor lint --select ACK206,ACK305 SOURCES",
            "ackdoctor trace proxy -- COMMAND   shows the slow call",
        ),
    ),
    Symptom(
        name="a cast of anchors or ids",
        pattern=r"ClassCastException: .* cannot be cast to (?:class )?java\.(?:lang\.String|util\.List)\b",
        frame=_SHELL,
        says="an id or anchor that is no string, or a payload that is no list; ShellBolt dies",
        causes=(
            _cause("anchors that are ids or lists instead of tuples", "ACK204"),
            _cause("a payload that is a single value instead of a list", "ACK205"),
            _cause("a component that keeps ids as numbers"),
        ),
        next=("ackdoctor lint --select ACK204,ACK205 SOURCES",),
    ),
    Symptom(
        name="an exception that Petrel reports",
        pattern=r"E_(?:BOLT|SPOUT)FAILED__(?P<id>\w*)",
        says="a component raised, and Petrel ends its process with a word that is no message: script, host, process and exception",
        causes=(_cause("the exception: its traceback is in the component's own log"),),
        next=("pytest --ackdoctor",),
    ),
    Symptom(
        name="foreign words on the pipe",
        pattern=r"Unexpected(?:(?<=^Unexpected)|(?<=Exception: Unexpected)|(?<=Caused by: Unexpected)) (?:character|token|End Of File|exception|unicode)"
        r"|cannot be cast to .*JSONObject|Command not found in (?:bolt|spout) message|unable to parse: (?!E_(?:BOLT|SPOUT)FAILED)",
        frame=_SHELL,
        says="what arrived on the pipe between component and worker is not a message",
        causes=(
            _cause("a print in the component", "ACK206"),
            _cause("two threads that write at once", "ACK108"),
            _cause("a payload that JSON cannot carry", "ACK205"),
            _cause("an exception in Petrel, whose report is no message: E_BOLTFAILED, `(E) at position 0`"),
        ),
        next=("ackdoctor lint --select ACK205,ACK206,ACK108 SOURCES",),
    ),
    Symptom(
        name="a message without a command",
        pattern=_NULL,
        frame=r"\bmultilang\..*\.readShellMsg",
        vague=True,
        says="what arrived on the pipe between component and worker is JSON, and no message",
        causes=(_cause("a print in the component, of `null` or of an object", "ACK206"),),
        next=("ackdoctor lint --select ACK206 SOURCES",),
    ),
    Symptom(
        name="a component that cannot be started",
        pattern=r"Error when launching multilang subprocess|Cannot run program \"",
        says="the component's process has ended before its first message, or never began",
        causes=(
            _cause(
                "an interpreter or a script that is not there: on the worker's PATH, in the jar's resources"
            ),
            _cause("an exception that nobody catches while it starts: a missing module, a print", "ACK206"),
        ),
        next=("ackdoctor trace proxy -- COMMAND   keeps what passed last",),
    ),
    Symptom(
        name="the component's pipe is broken",
        pattern=r"NoOutputException|Pipe to subprocess seems to be broken|IOException: Broken pipe",
        frame=_SHELL,
        says="the component's process is gone; its own words, if any, stand after `Serializer Exception:` or `stderr`",
        causes=(
            _cause("an exception that nobody catches: read the Python traceback above"),
            _cause("a print that broke the protocol", "ACK206"),
            _cause("the process was killed: memory, or a missing module"),
        ),
        next=(
            "ackdoctor lint --select ACK206 SOURCES",
            "ackdoctor trace proxy -- COMMAND   keeps what passed last",
        ),
    ),
    Symptom(
        name="a null id",
        pattern=_NULL,
        frame=r"ShellBolt\.handle(?:Ack|Fail|Emit)",
        vague=True,
        says="an ack, fail or anchor without an id; ShellBolt dies",
        causes=(_cause("a completion of something that is no tuple: a batch, a key, None", "ACK204"),),
        next=("pytest --ackdoctor",),
    ),
    Symptom(
        name="a command that a spout may not say",
        pattern=r"Unknown command received from subprocess|Unknown command received",
        says="a spout said something that ShellSpout does not know; the worker dies",
        causes=(
            _cause("an ack or fail sent by a spout"),
            _cause("a print that looks like a message", "ACK206"),
        ),
        next=("ackdoctor lint SOURCES",),
    ),
    Symptom(
        name="a stream that nobody declared",
        pattern=r"Unknown stream ID: |Cannot emitDirect to a task|Cannot do regular emit to direct stream",
        says="an emit to a stream that the component has not declared, or not in that way",
        causes=(_cause("a misspelt stream, or a direct emit on a regular one"),),
    ),
    Symptom(
        name="a wrong number of fields",
        pattern=r"Tuple created with wrong number of fields|Expected \d+ fields but got \d+",
        says="an emit has more or fewer values than the stream has fields; 1.x kills the worker for it",
        causes=(
            _cause("a payload that is no list of the declared fields", "ACK204", "ACK205"),
            _cause("declared outputs that were not changed with the emit"),
        ),
        next=("ackdoctor lint --select ACK204,ACK205 SOURCES",),
    ),
    Symptom(
        name="the collector used by several threads",
        pattern=_NULL,
        frame=r"\A\s*at \S*\.DisruptorQueue\.|worker\$mk_transfer_fn|\$start_batch_transfer",
        vague=True,
        says="an executor sends a tuple that is not there, or only half",
        causes=(_cause("ack, fail or emit from other threads than the executor's", "ACK108"),),
        next=("ackdoctor lint --select ACK108 SOURCES",),
    ),
    Symptom(
        name="nothing in a queue",
        pattern=r"NULL found in disruptor",
        says="an executor's queue holds nothing where a tuple should be",
        causes=(_cause("ack, fail or emit from several threads at once (STORM-2231)", "ACK108"),),
        next=("ackdoctor lint --select ACK108 SOURCES",),
    ),
    Symptom(
        name="a payload that cannot be sent",
        pattern=r"Failed to send message: |is not JSON serializable|Class is not registered: |NotSerializableException",
        says="a value is none that the serializer takes: pystorm and streamparse lose the tuple, the others die or fail it",
        causes=(
            _cause("an emit of such a value: a date, a set, a Decimal, an object", "ACK205"),
            _cause("the component's own use of that serializer, or a field that is no part of a tuple"),
        ),
        next=("ackdoctor lint --select ACK205 SOURCES",),
        fatal=False,
    ),
    Symptom(
        name="a value changed after its emit",
        pattern=r"ConcurrentModificationException",
        frame=r"[Kk]ryo|Serializ",
        vague=True,
        says="a value was being serialised while it changed",
        causes=(_cause("a list or map that was emitted and then changed"),),
    ),
    Symptom(
        name="an acker without timeouts",
        pattern=r"Timeouts disabled for executor (?:__acker|\[?__acker)",
        says="this acker never rotates its map: whatever stays in it stays until the worker restarts",
        causes=(
            _cause(
                "Storm 0.9.0 to 0.10.2, 1.0.0 to 1.0.5, 1.1.0, 1.1.1: ackers get no ticks (STORM-2786)",
                "ACK603",
            ),
            _cause("topology.enable.message.timeouts is false (2.x)", "ACK603"),
        ),
        next=("ackdoctor heap hist --pid PID", "ackdoctor heap dump worker.hprof"),
        fatal=False,
    ),
    Symptom(
        name="out of memory",
        pattern=r"OutOfMemory(?:Error:| encountered:) (?:Java heap space|GC overhead limit exceeded)",
        says="the worker's heap is full",
        causes=(
            _cause(
                "an acker that keeps entries: tuples acked twice, or never, on a version that does not rotate",
                "ACK601",
                "ACK602",
                "ACK603",
            ),
            _cause("a component that never acks: ShellBolt keeps its tuples", "ACK101", "ACK401"),
            _cause("a spout without topology.max.spout.pending, or no ackers: nothing slows it down"),
        ),
        next=("ackdoctor heap dump worker.hprof", "ackdoctor heap hist --pid PID"),
    ),
    Symptom(  # vmError.cpp, debug.cpp; the same words begin a hs_err_pid file
        name="the JVM has crashed",
        pattern=r"#  (?:(?:SIG[A-Z]+|EXCEPTION_[A-Z_]+) \(0x|(?:guarantee|assert)\(|Error: |fatal error: (?!OutOfMemory ))",
        says="the worker's JVM itself has crashed; no tuple and no exception does that",
        causes=(
            _cause("a native library of a component: the line below `Problematic frame` names it"),
            _cause("a library or a jar that was overwritten while it was mapped (SIGBUS)"),
            _cause("a bug of this JVM, or the machine's memory"),
        ),
        next=("grep -A2 -e 'Problematic frame' -e 'Current thread' hs_err_pid*.log",),
    ),
    Symptom(
        name="the machine is out of memory",
        pattern=r"insufficient memory for the Java Runtime Environment to continue",
        says="the system gave the worker's JVM no more memory, and the JVM is gone; its heap need not be full",
        causes=(
            _cause(
                "the container or machine has less than the -Xmx of its workers, their native memory and their Python processes need"
            ),
            _cause("a limit: of the cgroup, ulimit -v, vm.max_map_count, or of threads"),
            _cause("memory outside of the heap that grows: threads, direct buffers, a native library"),
        ),
        next=("dmesg | grep -i -e oom -e 'out of memory'   names what the system has killed",),
    ),
    Symptom(
        name="timeouts at the spout",
        pattern=r"SPOUT Failing .*REASON: TIMEOUT",
        says="trees time out: the spout replays what may have been done",
        causes=(
            _cause("a tuple that is never acked", "ACK101", "ACK102", "ACK401", law="L1"),
            _cause(
                "a tuple acked an even number of times while the tree is incomplete",
                "ACK103",
                "ACK104",
                law="L1b",
            ),
            _cause("a bolt slower than topology.message.timeout.secs"),
        ),
        next=("ackdoctor analyze LOG   names the tuples, with topology.debug on",),
        fatal=False,
    ),
    Symptom(
        name="JStorm's acker drops entries",
        pattern=r"Acker's timeout item size: ?(?P<id>\d+)",
        says="JStorm's acker has dropped entries that never came to zero",
        causes=(
            _cause("a tuple that is never acked, or an even number of times", "ACK601", law="L1"),
            _cause("acks that came after the tree had ended", "ACK602", law="L4"),
        ),
        next=("ackdoctor lint SOURCES",),
        fatal=False,
    ),
    Symptom(
        name="a window longer than the timeout",
        pattern=r"Window duration .*(?:more|greater) than .*message\.timeout",
        says="a windowed bolt acks a tuple when it leaves the window, later than the timeout",
        causes=(_cause("topology.message.timeout.secs below window length plus sliding interval"),),
    ),
    Symptom(
        name="a window larger than what may be pending",
        pattern=r"Window count .*more than .*max\.spout\.pending",
        says="a windowed bolt acks a tuple when it leaves the window, which would never be full",
        causes=(_cause("topology.max.spout.pending below window length plus sliding interval"),),
    ),
    Symptom(
        name="an offset acked twice",
        pattern=r"below the current nextCommitOffset",
        says="Kafka's spout was told of an offset that it has committed",
        causes=(_cause("a tuple acked twice at the spout, or a spout that two tasks share"),),
    ),
    Symptom(
        name="Kafka's spout has stopped",
        pattern=r"Not polling on partition .* uncommitted offsets",
        says="the spout waits for offsets that were never acked",
        causes=(
            _cause("one root that never ends: a missing ack, an endless replay", "ACK101", "ACK304"),
            _cause("no ackers"),
        ),
        next=("ackdoctor analyze TRACE",),
        fatal=False,
    ),
    Symptom(
        name="a consumer group that rebalances",
        pattern=r"CommitFailedException",
        says="the consumer was away from poll for too long",
        causes=(_cause("a backlog of tuples that are not acked, or work between polls"),),
    ),
    Symptom(
        name="an exception of the component's own",
        pattern=r"Traceback \(most recent call last\)",
        says="Python code raised, and nobody caught it",
        causes=(
            _cause(
                "the last line of the traceback; the tuple times out, or is failed by auto_fail", "ACK102"
            ),
        ),
        next=("pytest --ackdoctor",),
        fatal=False,
        wrapper=True,
    ),
    Symptom(
        name="a dead executor",
        pattern=r"ShellBolt died|Async loop died!|Halting process|Worker died",
        says="an executor has died, and the worker with it",
        causes=(
            _cause(
                "the exception that stands behind it, see above; else the component's own words on stderr"
            ),
        ),
        next=("ackdoctor diagnose worker.log.err",),
        wrapper=True,
    ),
)
