"""How a trace names what runs in the lab: components, and the lines that called their collectors."""

from ackdoctor.lab.component import BasicBolt
from ackdoctor.model.dialect import Dialect, Discipline, Kind, Role
from ackdoctor.tracer.ledger.sites import Sites
from ackdoctor.tracer.ledger.suspects import belongs, describe
from ackdoctor.tracer.trace.components import described

__all__ = ["author_sites", "called_from", "introduced"]

_BOLT = Role(
    name="IRichBolt", kind=Kind.BOLT, classes=(), entries=(), verbs=(), discipline=Discipline()
)  # a Python object with the shape of Storm's Java API
_STORM = Dialect(name="storm", language="java", title="Storm", words=(), roles=(_BOLT,))
_AUTO_ACK = f"{BasicBolt.__module__}.{BasicBolt.execute.__qualname__}"
_LOOP = "BoltThread.begin"  # beyond it are the cluster's callers, who are no authors of bolts


def introduced(component: object) -> tuple[str, str]:
    """Site and note of a component's NAMED row: its class statement, its dialect and role."""
    cls: type = type(component)
    suspect = describe(component, *(belongs(cls) or (_STORM, _BOLT)))
    site = f"{suspect.path}:{suspect.line} {cls.__qualname__}" if suspect.path else ""
    return site, described(suspect)


def author_sites() -> Sites:
    """Call sites of bolts in the lab."""
    return Sites(completes=(_AUTO_ACK, f"ackdoctor.lab.bolt_thread.{_LOOP}"))


def called_from(sites: Sites) -> str:
    """The line of the bolt that called its collector, three frames up; '' if a ShellBolt did it for its component."""
    site = sites[sites.here(3)]
    return "" if site is None or site.function == _LOOP else str(site)
