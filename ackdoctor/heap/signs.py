"""The meaning, likely causes and next steps of each known histogram class and each kind of pending entry."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from ackdoctor import rulebook
from ackdoctor.heap.entries import Kind
from ackdoctor.model.trace import Cause
from ackdoctor.rulebook import catalogue
from ackdoctor.tracer.acker_findings import ACKER

_STORM = r"(?:org\.apache|backtype)\.storm\."
_SHADED = r"(?:org\.apache\.storm\.shade\.)?"
MAP_1 = "clojure.lang.PersistentArrayMap"
NODE, LONG = r"java\.util\.HashMap\$(?:Node|Entry)", r"java\.lang\.Long"
_TUPLE = rf"{_STORM}tuple\.TupleImpl"
_MESSAGE = rf"{_STORM}multilang\.BoltMsg"
SPOUTS = r"(?:org\.apache\.storm\.executor|com\.alibaba\.jstorm\.task\.comm)\.TupleInfo"
TUPLES = rf"{_TUPLE}|{_MESSAGE}|{SPOUTS}"
_ORPHAN_1, _ENTRY_2 = 144, 104  # bytes per entry, measured in real ackers
_SPOUT = "spout"  # the component of a finding whose spout is unknown


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Sign:
    """A row of the table: the meaning of a class's instances, and the reason (`because`) if they grow.

    `each` is the size of an entry in bytes, 0 if unknown.  A row with a `code` yields a finding with the words of
    the case `grows` for the component `of`.  Without `with_`, every instance has this meaning.  `shared`: other code uses
    the class as well, so only bounds are known.
    """

    pattern: str
    means: str
    because: str = ""
    each: int = 0
    code: str = ""
    of: str = ACKER
    grows: str = ""  # the case of the rule's messages
    with_: str = ""  # a class that must grow about as fast
    not_slower: str = ""  # a class that must grow at least as fast
    without: str = ""  # a class whose growth explains this one
    help: str = ""
    acking: bool = False
    shared: bool = False

    @property
    def next_step(self) -> str:
        """What to do if the instances grow; "" if nothing is known."""
        return catalogue(self.code).cases[self.grows].help if self.grows else self.help


_WAITED_FOR = "messages that a spout waits for: slow, or never acked; topology.max.spout.pending bounds them"
_SLOW_CHILD = (
    "set topology.shellbolt.max.pending (Storm 0.10 and later; before, the queue has no limit), and "
    "topology.max.spout.pending with ackers and message ids, so that the spout waits; then make the child faster "
    "or raise its parallelism"
)
_QUEUE_HELP = (
    "find the bolt whose capacity in the UI is near 1 and raise its parallelism; topology.max.spout.pending, with ackers "
    "and message ids, bounds the tuples under way"
)

SIGNS = (
    # ---- ackers and spouts ----
    Sign(
        pattern=rf"{_STORM}daemon\.Acker\$AckObject",
        means="entries of the acker's pending map (2.x): one for each unfinished root",
        each=_ENTRY_2,
        code=rulebook.PENDING_GROWTH,
        grows="histogram",
        acking=True,
    ),
    Sign(
        pattern=r"clojure\.lang\.PersistentArrayMap",
        means="entries of the acker's pending map (1.x), among other uses of Clojure",
        each=_ORPHAN_1,
        code=rulebook.PENDING_GROWTH,
        with_=NODE,
        not_slower=LONG,
        without=r"clojure\.lang\.PersistentVector",
        grows="histogram",
        acking=True,
        shared=True,
    ),
    Sign(
        pattern=r"com\.alibaba\.jstorm\.task\.acker\.AckObject",
        means="entries of the acker's pending map (JStorm): one for each unfinished root",
        code=rulebook.PENDING_GROWTH,
        grows="histogram",
        acking=True,
    ),
    Sign(
        pattern=SPOUTS,
        means=_WAITED_FOR,
        code=rulebook.PENDING_GROWTH,
        of=_SPOUT,
        grows="histogram of a spout",
        acking=True,
    ),
    Sign(  # executor.clj: (.put pending root-id [task-id message-id {:stream .. :values ..} start-time])
        pattern=r"clojure\.lang\.PersistentVector",
        means=f"{_WAITED_FOR} (1.x)",
        code=rulebook.PENDING_GROWTH,
        of=_SPOUT,
        grows="histogram of a spout",
        with_=r"clojure\.lang\.PersistentArrayMap",
        acking=True,
    ),
    # ---- ShellBolt ----
    Sign(
        pattern=_MESSAGE,
        means="tuples in ShellBolt's queue to its child (_pendingWrites)",
        because="the child process is slower than its input, and the spout is not throttled",
        of="ShellBolt",
        help=_SLOW_CHILD,
        acking=True,
    ),
    Sign(
        pattern=_TUPLE,
        means="tuples whose messages wait in ShellBolt's queue to its child",
        with_=_MESSAGE,
        help=_SLOW_CHILD,
        acking=True,
    ),
    Sign(
        pattern=_TUPLE,
        means="tuples in a ConcurrentHashMap: ShellBolt's inputs, which only an ack or a fail removes",
        code=rulebook.UNDRAINED_BUFFER,
        of="ShellBolt",
        grows="histogram",
        with_=r"java\.util\.concurrent\.ConcurrentHashMap\$Node",
        without=_MESSAGE,
        acking=True,
    ),
    # ---- queues between executors and workers ----
    Sign(
        pattern=_TUPLE,
        means="tuples that wait in the queue of an executor",
        because="a bolt is slower than its input",
        with_=rf"{_STORM}tuple\.AddressedTuple",
        help=_QUEUE_HELP,
        acking=True,
    ),
    Sign(
        pattern=rf"{_STORM}tuple\.AddressedTuple",
        means="tuples in the queues between executors (1.x: DisruptorQueue and its overflow; 2.x: JCQueue)",
        because="a bolt is slower than its input",
        help=_QUEUE_HELP,
    ),
    Sign(
        pattern=rf"{_STORM}messaging\.TaskMessage",
        means="tuples on their way between workers",
        because="the other worker or the network is slower than the sender",
        help=f"look for a worker that is slow or gone; {_QUEUE_HELP}",
    ),
    Sign(
        pattern=rf"{_SHADED}io\.netty\.channel\.ChannelOutboundBuffer\$Entry",
        means="writes that wait in Netty's buffers for another process",
        because="the other process is slower than the sender, or gone",
        help="look for a worker that is slow or gone; topology.max.spout.pending, with ackers and message ids, bounds "
        "what is under way",
    ),
    Sign(
        pattern=_TUPLE,
        means="tuples that a bolt keeps, or that wait in a queue before a slow one",
        help="ackdoctor lint on the bolts: a buffer that is never drained",
        acking=True,
    ),
    Sign(
        pattern=r"java\.util\.concurrent\.(?:FutureTask|CompletableFuture\$Async\w+)",
        means="tasks of a thread pool",
        because="the pool is slower than its input, and its queue may have no limit",
        help="give the pool's queue a limit, or wait for the result, where a bolt hands tuples to it",
    ),
    # ---- what spouts and frameworks keep ----
    Sign(
        pattern=r"org\.apache\.storm\.kafka\.spout\.KafkaSpoutMessageId",
        means="messages that KafkaSpout has emitted and not committed: acked ones also stay until all earlier ones are acked",
        help="ackdoctor lint the bolts: one tuple that is never acked holds up all behind it; maxUncommittedOffsets bounds them",
    ),
    Sign(
        pattern=r"org\.apache\.kafka\.clients\.consumer\.ConsumerRecord",
        means="Kafka's records: KafkaSpout's waitingToEmit, or tuples whose values they are",
        help="KafkaSpout polls no more than max.poll.records at a time: if there are more, look at who keeps the tuples",
    ),
    Sign(
        pattern=r"(?:org\.apache\.storm|storm)\.trident\.tuple\.TridentTupleView",
        means="tuples of Trident's batches: large batches, or an aggregation that keeps them",
        help="make batches smaller at the spout; topology.max.spout.pending counts batches",
    ),
    Sign(
        pattern=r"org\.apache\.storm\.windowing\.EventImpl",
        means="tuples in windows: a windowed bolt acks a tuple when it leaves its last window",
        help="a window that is longer than the message timeout times out; make it shorter, or the timeout longer",
    ),
    Sign(
        pattern=rf"{_STORM}metric\.api\.IMetricsConsumer\$DataPoint",
        means="metrics on their way to a metrics consumer",
        because="the consumer is slower than its input",
        help="set max.retain.metric.tuples where the consumer is registered, or raise its parallelism",
    ),
    Sign(
        pattern=r"java\.util\.concurrent\.LinkedBlockingQueue\$Node",
        means="entries of queues",
        because="producers are faster than consumers",
        help="the queue holds the class that grows equally fast",
    ),
)


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Meaning:
    """The name and the meaning of a kind of entry, and its likely causes, most likely first."""

    label: str
    meaning: str
    causes: tuple[Cause, ...]


_LATE = Cause(
    text="acks under way when the tree failed or timed out: correct programs also leave them", law="L4"
)

KINDS: Mapping[Kind, Meaning] = MappingProxyType(
    {
        Kind.WAITING: Meaning(
            label="tracked",
            meaning="a spout task is known and the value is not zero: under way, or, if old, never to complete",
            causes=(
                Cause(
                    text="a tuple of the tree was never acked: a path without ack or fail, a bolt that died, a buffer",
                    law="L1",
                    rules=(rulebook.MISSING_ACK, rulebook.SWALLOWED_FAILURE, rulebook.UNDRAINED_BUFFER),
                ),
                Cause(
                    text="a tuple was acked an even number of times while the tree was incomplete",
                    law="L1b",
                    rules=(rulebook.DOUBLE_ACK, rulebook.ACK_IN_LOOP, rulebook.ACK_WITH_AUTO_ACK),
                ),
                Cause(
                    text="an emit was anchored to a tuple that had been acked",
                    rules=(rulebook.EMIT_AFTER_ACK,),
                ),
            ),
        ),
        Kind.ORPHAN: Meaning(
            label="orphan",
            meaning="no spout waits for it, and no message can remove it",
            causes=(
                Cause(
                    text="a tuple was acked an even number of times, the last time after the tree was complete",
                    law="L1b",
                    rules=(rulebook.DOUBLE_ACK, rulebook.ACK_IN_LOOP, rulebook.ACK_WITH_AUTO_ACK),
                ),
                _LATE,
                Cause(
                    text="an emit was anchored to a tuple that had been acked, and the child acks",
                    rules=(rulebook.EMIT_AFTER_ACK,),
                ),
            ),
        ),
        Kind.ZERO: Meaning(
            label="orphan, zero",
            meaning="no spout waits for it; a value of zero alone does not remove it",
            causes=(
                Cause(
                    text="a tuple was acked an odd number of times, three or more",
                    law="L1b",
                    rules=(rulebook.DOUBLE_ACK, rulebook.ACK_IN_LOOP),
                ),
                Cause(text="a timeout was reset after the tree had ended (2.x)"),
            ),
        ),
        Kind.FAILED: Meaning(
            label="orphan, failed",
            meaning="no spout waits for it; a fail came after the tree had ended, or before it began",
            causes=(
                Cause(text="several tuples of one tree failed: correct programs also leave it", law="L4"),
                Cause(
                    text="a tuple was failed after its ack, or failed twice",
                    rules=(rulebook.ACK_AND_FAIL,),
                ),
            ),
        ),
        Kind.NIL: Meaning(
            label="orphan, nil",
            meaning="no spout waits for it, and it never had a value",
            causes=(Cause(text="a timeout was reset after the tree had ended"),),
        ),
        Kind.OTHER: Meaning(
            label="not an entry", meaning="an acker never stores this value, or the dump lacks it", causes=()
        ),
    }
)
