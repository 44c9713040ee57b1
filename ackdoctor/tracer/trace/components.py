"""The note of a NAMED row, from which a replay rebuilds the component.

"pystorm Bolt auto_ack auto_fail": dialect, role, and the switches that are on. A second NAMED row at the end of a
component, "pystorm Bolt unobserved: send_message is replaced", marks it as not observed: open tuples are then no fault.
"""

from ackdoctor.dialects import known
from ackdoctor.dialects.storm_py import SHELL_BOLT
from ackdoctor.model.dialect import Cost, Discipline, Entry, EntryKind, Kind, Misuse, Price, Role
from ackdoctor.model.trace import TracedComponent
from ackdoctor.tracer.judge.places import parsed

__all__ = ["MULTILANG", "STORM", "UNOBSERVED", "described", "recalled", "role_of", "unobserved"]


UNOBSERVED = " unobserved: "
_SWITCHES = ("auto_ack", "auto_fail", "auto_anchor")

MULTILANG = Role(  # a component of which only the pipe is known, as the proxy sees it
    name="multilang",
    kind=Kind.BOLT,
    classes=(),
    entries=(),
    verbs=(),
    discipline=Discipline(costs=SHELL_BOLT),
)

STORM = Role(  # Java's IRichBolt, and what the lab runs
    name="IRichBolt",
    kind=Kind.BOLT,
    classes=(),
    entries=(Entry(method="execute", kind=EntryKind.DATA),),
    verbs=(),
    discipline=Discipline(
        thread_safe=True,
        costs={
            Misuse.TWICE: Cost(
                prices=(Price.ZOMBIE,),
                note="Storm does not notice, and the acker keeps an entry that can never complete",
            ),
            Misuse.MIXED: Cost(
                prices=(Price.ZOMBIE,),
                note="Storm does not notice, and which of the two the spout hears depends on their order",
            ),
            Misuse.LATE_EMIT: Cost(
                prices=(Price.ZOMBIE,), note="the new tuple is not tracked, or the tree can never complete"
            ),
            Misuse.NEVER: Cost(
                prices=(Price.TIMEOUT, Price.ZOMBIE),
                note="the tree times out, and is replayed if its spout emitted it with a message id",
            ),
            Misuse.UNANCHORED: SHELL_BOLT[Misuse.UNANCHORED],
        },
    ),
)


def described(traced: TracedComponent) -> str:
    """The note for a component."""
    switches = [name for name in _SWITCHES if getattr(traced, name)]
    return " ".join([traced.dialect, traced.role, *switches])


def unobserved(note: str) -> str:
    """What hides the completions of the component in a NAMED row, or ''."""
    return note.partition(UNOBSERVED)[2]


def recalled(name: str, task: int, site: str = "", note: str = "") -> TracedComponent:
    """The component of a NAMED row; without one, any multilang component."""
    dialect, _, rest = note.partition(" ")
    role, _, switches = rest.partition(UNOBSERVED)[0].partition(" ")
    place = parsed(site)
    on = switches.split()
    return TracedComponent(
        name=name,
        dialect=dialect,
        role=role or MULTILANG.name,
        path=place.path if place is not None else "",
        line=place.line if place is not None else 0,
        task=task,
        auto_ack="auto_ack" in on,
        auto_fail="auto_fail" in on,
        auto_anchor="auto_anchor" in on,
    )


def role_of(traced: TracedComponent) -> Role:
    """The role of a component by its names; MULTILANG for names that no dialect has."""
    if (traced.dialect, traced.role) == ("storm", STORM.name):
        return STORM
    roles = (role for dialect in known() if dialect.name == traced.dialect for role in dialect.roles)
    return next((role for role in roles if role.name == traced.role), MULTILANG)
