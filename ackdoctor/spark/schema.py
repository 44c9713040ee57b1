"""One explicit schema for each table of an analysis.

    EVENTS -> MESSAGES -> ENTRIES -> VERDICTS        unusable rows -> QUARANTINE        of `watch`: CARRIED, DONE

All ids and values are Java longs.  The key of a root is (run, acker, incarnation, root): a new incarnation
is an acker that restarted and has forgotten its entries.
"""

from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    ByteType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

ROOT_KEY = ("run", "acker", "incarnation", "root")

EXACT = "exact"  # one process saw all messages of the root, in order
ESTIMATED = "estimated"  # the clocks of several processes order its messages

_BYTE, _INT, _LONG = ByteType(), IntegerType(), LongType()
_TEXT, _FLAG = StringType(), BooleanType()


def _table(**columns: DataType) -> StructType:
    return StructType([StructField(name, kind) for name, kind in columns.items()])


# One row for each thing that happened (`model.trace.Event`), and where it was read.
EVENTS = _table(
    kind=_BYTE,
    time_ns=_LONG,
    seq=_LONG,  # orders the rows of one process
    component=_TEXT,
    task=_INT,
    stream=_TEXT,
    delivery=_TEXT,
    root=_LONG,
    value=_LONG,
    site=_TEXT,
    thread=_TEXT,
    flags=_BYTE,
    test=_TEXT,
    note=_TEXT,
    run=_TEXT,
    worker=_TEXT,
    pid=_INT,  # in a log 0, and one less for each restart of the worker before the row
    acker=_INT,  # the acker's task; null in a trace
    incarnation=_INT,  # how often that acker had been started before
)

# One row for each message to an acker, ticks included (kind ROTATED); and for each root that a spout's own
# map dropped (TIMED_OUT), of which the acker gets no message.
MESSAGES = _table(
    run=_TEXT,
    acker=_INT,  # task; 0 where it is not known
    incarnation=_INT,
    root=_LONG,
    kind=_BYTE,  # model.trace.EventKind
    value=_LONG,
    spout_task=_INT,  # of an INIT; null else
    component=_TEXT,  # who sent it
    task=_INT,
    delivery=_TEXT,
    source=_LONG,  # the process that wrote it down; within one, `pos` is the order of arrival
    pos=_LONG,
    time_ns=_LONG,
    site=_TEXT,
)

# One row for each entry of an acker's pending map.
ENTRIES = _table(
    run=_TEXT,
    acker=_INT,
    incarnation=_INT,
    root=_LONG,
    nth=_INT,  # 1 for the root's first entry
    sole=_FLAG,  # proved to be the root's only entry, and to have completed
    outcome=_TEXT,  # acked, failed, expired, pending
    value=_LONG,  # at the end; null where acker.clj's entry has none
    spout_task=_INT,  # null for an orphan
    failed=_FLAG,
    n=_LONG,  # messages
    n_init=_LONG,
    n_ack=_LONG,
    n_fail=_LONG,
    n_reset=_LONG,
    first_pos=_LONG,
    last_pos=_LONG,  # of its last message
    end_pos=_LONG,  # of the message or tick that ended it; null while pending, and for ticks of a schedule
    first_ns=_LONG,
    init_ns=_LONG,  # of the earliest INIT
    last_ns=_LONG,
    end_ns=_LONG,  # `last_ns`, or that of the tick; null while pending
    order=_TEXT,  # EXACT or ESTIMATED
)

CULPRIT = _table(
    delivery=_TEXT,
    component=_TEXT,
    task=_INT,
    value=_LONG,
    acks=_LONG,
    sites=ArrayType(_TEXT),  # of its first acks, in their order; empty in a log
)

# One row for each root.
VERDICTS = _table(
    run=_TEXT,
    acker=_INT,
    incarnation=_INT,
    root=_LONG,
    verdict=_TEXT,  # name of a model.trace.Verdict
    residue=_TEXT,  # name of a model.trace.Residue
    value=_LONG,  # of the entry that is left or expired; null if there is none, or it has no value
    tracked=_FLAG,  # whether that entry knows its spout; null if there is none
    kept=_FLAG,  # whether it still is in the map at the end
    spout_task=_INT,  # of the first INIT
    n_entries=_INT,
    surplus=_LONG,  # ACK messages after the first completion
    n=_LONG,
    first_ns=_LONG,
    init_ns=_LONG,
    last_ns=_LONG,
    end_ns=_LONG,  # the first answer to the spout, or the tick that dropped the entry; null if neither
    order=_TEXT,
    culprits=ArrayType(CULPRIT),  # the tuples whose ack carries the value that is left
)

# MESSAGES of roots that are still open; `reported`: how many entries of the root were reported or need no report.
CARRIED = StructType([*MESSAGES.fields, StructField("reported", _INT)])

COMPLETION = _table(seq=_LONG, kind=_BYTE, time_ns=_LONG, site=_TEXT, flags=_BYTE)

# One row for each delivery of a trace that grows; `reported` once its second completion was reported.
DONE = _table(
    run=_TEXT,
    worker=_TEXT,
    pid=_INT,
    component=_TEXT,
    task=_INT,
    test=_TEXT,
    delivery=_TEXT,
    stream=_TEXT,
    received=_LONG,
    done=_LONG,
    completions=ArrayType(COMPLETION),
    roots=ArrayType(_LONG),
    tick=_FLAG,
    last_ns=_LONG,
    reported=_FLAG,
)

# One row for each row or line that cannot be used.
QUARANTINE = _table(file=_TEXT, place=_LONG, text=_TEXT, reason=_TEXT)
