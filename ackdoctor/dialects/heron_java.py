"""Heron's own Java interface: com.twitter.heron up to 0.17, org.apache.heron from 0.18 on.

Acks and fails count only in ATLEAST_ONCE, which is not the default.  No acker: the stream manager does the XOR and
forgets a root that is complete, so there are no orphans.
Read: apache/incubator-heron heron/api/src/java/org/apache/heron/api/{bolt,spout,tuple,windowing}/*.java @ 1c5779d.
Heron's copies of Storm's packages are known as Storm's.
"""

from dataclasses import replace

from ackdoctor.dialects import _java
from ackdoctor.dialects._java_prices import basic, bolt, spout, windowed
from ackdoctor.model.dialect import Dialect, Discipline, Entry, Kind, Misuse, Price, Role

__all__ = ["DIALECTS"]

_ROOTS = ("org.apache.heron.api", "com.twitter.heron.api")
_PRICES = {
    Misuse.TWICE: (Price.TIMEOUT,),
    Misuse.MIXED: (Price.NOTHING,),
    Misuse.NEVER: (Price.TIMEOUT,),
    Misuse.UNANCHORED: (Price.LOSS,),
    Misuse.LATE_EMIT: (Price.LOSS, Price.TIMEOUT),
    Misuse.SWALLOWED: (Price.LOSS,),
    Misuse.EARLY: (Price.LOSS,),
}
_NOTES = {
    Misuse.TWICE: "the stream manager counts the tuple in twice: while its tree is open it can never become zero, and times out",
    Misuse.MIXED: "the first of the two counts and the other is ignored",
    Misuse.NEVER: "its tree times out at the spout",
    Misuse.UNANCHORED: "the tree ends here: whatever fails downstream is never replayed",
    Misuse.LATE_EMIT: "the tree may be complete already, and what fails downstream is lost in silence, or it can never become zero and times out",
    Misuse.SWALLOWED: "the spout sees an ack for a tuple whose work was not done",
    Misuse.EARLY: "what fails after the ack is never replayed",
}


def _heron(discipline: Discipline) -> Discipline:
    """Heron's prices; who guesses the anchors of an emit guesses them here, too."""
    off = Misuse.OFF_THREAD
    prices = {off: discipline.prices[off]} if off in discipline.prices else {}
    notes = {off: discipline.notes[off]} if off in discipline.notes else {}
    return replace(
        discipline, advisory=True, thread_safe=True, prices={**_PRICES, **prices}, notes={**_NOTES, **notes}
    )


def _role(name: str, kind: Kind, paths: str, entries: tuple[Entry, ...], discipline: Discipline) -> Role:
    return Role(
        name=name,
        kind=kind,
        classes=tuple(f"{root}.{path}" for root in _ROOTS for path in paths.split()),
        entries=entries,
        verbs=(),
        discipline=discipline,
        by_hand=_java.BY_HAND.get(name, ""),
        to_fail=_java.TO_FAIL.get(name, ""),
    )


DIALECTS = (
    Dialect(
        name="heron_java",
        language="java",
        title="Heron",
        until=(0, 20),
        words=(b"org.apache.heron", b"com.twitter.heron"),
        roles=(
            _role(
                "Bolt", Kind.BOLT, "bolt.BaseRichBolt bolt.IRichBolt bolt.IBolt", _java.BOLT, _heron(bolt(""))
            ),
            _role(
                "BasicBolt",
                Kind.BOLT,
                "bolt.BaseBasicBolt bolt.IBasicBolt",
                _java.BASIC_BOLT,
                _heron(basic("")),
            ),
            _role(
                "WindowedBolt",
                Kind.BOLT,
                "bolt.BaseWindowedBolt bolt.IWindowedBolt",
                _java.WINDOWED_BOLT,
                _heron(windowed("")),
            ),
            _role(
                "StatefulWindowedBolt",
                Kind.BOLT,
                "bolt.BaseStatefulWindowedBolt bolt.IStatefulWindowedBolt",
                _java.STATEFUL_WINDOWED_BOLT,
                _heron(windowed("")),
            ),
            _role(
                "Spout",
                Kind.SPOUT,
                "spout.BaseRichSpout spout.IRichSpout spout.ISpout",
                _java.SPOUT,
                replace(
                    spout(),
                    advisory=True,
                    prices={Misuse.NO_MESSAGE_ID: (Price.LOSS,), Misuse.NEVER_RETURNS: (Price.TIMEOUT,)},
                    notes={
                        Misuse.NO_MESSAGE_ID: "Heron does not track the tuple and will never call ack or fail for it",
                        Misuse.NEVER_RETURNS: "ack, fail and checkpoints are the same thread's work and never come, and what is emitted leaves in full buffers only",
                    },
                ),
            ),
        ),
        verbs=(
            *_java.VERBS,
            *(verb for root in _ROOTS for verb in _java.tick_tests(f"{root}.utils")),
        ),
        shape=_java.SHAPE,
        own="this",
        objects={
            name: kind
            for root in _ROOTS
            for name, kind in (
                *_java.objects(root, tasks="bolt", spouts="spout", topology="bolt", tuples="tuple").items(),
                (f"{root}.windowing.TupleWindow", "window"),
            )
        },
        advice=_java.ADVICE,
        tick_settings=("topology.tick.tuple.freq.secs", "TOPOLOGY_TICK_TUPLE_FREQ_SECS"),
    ),
)
