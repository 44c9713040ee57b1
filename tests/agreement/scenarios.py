"""The input for each component of the fixtures, so that a run runs every path.

Each run of a scenario starts with a new component, because the first mistake ends a worker.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import nan
from typing import Any, TypeAlias

__all__ = ["SCENARIOS", "Scenario", "Step", "Steps", "dies"]

Step: TypeAlias = Callable[[Any], object]  # an operation on a bench
Steps: TypeAlias = Sequence[Step]


@dataclass(slots=True, kw_only=True)
class Scenario:
    """One component and its runs; `healthy_runs` are for the healthy variant only, `sick_runs` for the sick one only."""

    topology: str
    component: str  # "bolts.split SplitBolt"
    runs: Sequence[Steps]
    healthy_runs: Sequence[Steps] = ()
    sick_runs: Sequence[Steps] = ()
    tick_secs: int | None = None
    conf: Mapping[str, object] = field(default_factory=dict)
    arguments: Sequence[str] = ()  # of the command line


def feed(*values: Any) -> Step:
    return lambda bench: bench.feed(*values)


def dies(bench: Any) -> None:
    """Expect that the handler raised and the worker ended."""
    assert bench.died


def wait(seconds: float) -> Step:
    return lambda bench: bench.advance(seconds)


def tick(bench: Any) -> None:
    bench.tick()


def next_tuple(bench: Any) -> None:
    bench.next_tuple()


def ack(bench: Any) -> None:
    bench.ack(bench.waiting[0])


def fail(bench: Any) -> None:
    bench.fail(bench.waiting[0])


SPOUT: Sequence[Steps] = ((next_tuple, next_tuple, next_tuple, ack, fail, next_tuple, ack),)
LINE = {"sku": "tea", "quantity": 2, "price": 3.5}

SCENARIOS: Sequence[Scenario] = (
    Scenario(
        topology="streamparse/first-steps",
        component="validate PageViewBolt",
        runs=[[feed({"url": "/", "visitor": "ann"}), feed({"url": "/"})], [feed({"visitor": "ann"})]],
    ),
    Scenario(
        topology="streamparse/first-steps",
        component="store StoreBolt",
        conf={"database.url": "db"},
        runs=[[feed("/", "ann"), feed("/", "ann")], [feed("/refused", "ann")]],
    ),
    Scenario(
        topology="streamparse/first-steps",
        component="views ViewSpout",
        conf={"access.log": "access.log"},
        runs=[[next_tuple, next_tuple]],
        healthy_runs=SPOUT,
    ),
    Scenario(
        topology="streamparse/orders",
        component="bolts.validate ValidateBolt",
        runs=[
            [feed({"customer": "test", "lines": [LINE]})],
            [feed({"customer": "ann", "lines": []})],
            [feed({"customer": "ann", "lines": [LINE]})],
        ],
    ),
    Scenario(
        topology="streamparse/orders",
        component="bolts.split SplitBolt",
        runs=[[feed({"lines": [LINE] * lines})] for lines in (0, 1, 2)],
    ),
    Scenario(
        topology="streamparse/orders",
        component="bolts.ledger LedgerBolt",
        conf={"ledger.url": "ledger"},
        runs=[[feed("tea", 2, 3.5)] * 4, [feed("away", 2, 3.5)] * 4],
        healthy_runs=[[feed("tea", 2, 3.5), tick]],
    ),
    Scenario(
        topology="streamparse/orders",
        component="spouts.orders OrderSpout",
        conf={"orders.queue": "orders"},
        runs=SPOUT,
    ),
    Scenario(
        topology="pystorm/page-views",
        component="parse ParseBolt",
        runs=[[feed('{"visitor": "ann", "url": "/", "ts": 1}')], [feed("[")]],
        healthy_runs=[[feed("{}"), dies]],
        sick_runs=[[feed("{}")]],
    ),
    Scenario(
        topology="pystorm/page-views",
        component="sessions SessionBolt",
        runs=[
            [feed("ann", "/", 1), tick],
            [feed("ann", "/", 1), feed("bob", "/", 2), feed("ann", "/x", 3), tick],
            [tick],
        ],
    ),
    Scenario(
        topology="pystorm/page-views",
        component="totals TotalsBolt",
        conf={"database.url": "db"},
        runs=[[feed("ann", "/"), feed("bob", "/"), feed("ann", "/x"), tick, tick]],
        healthy_runs=[[feed("ann", "/"), tick]],
    ),
    Scenario(
        topology="pystorm/page-views",
        component="spout AccessLogSpout",
        conf={"access.log": "access.log"},
        runs=SPOUT,
    ),
    Scenario(
        topology="storm_py/sensors",
        component="calibrate_bolt CalibrateBolt",
        conf={"offsets.file": "offsets"},
        runs=[[feed("roof", "20.5")], [feed("cellar", 1)], [feed("roof", "warm")], [tick, tick]],
    ),
    Scenario(
        topology="storm_py/sensors",
        component="alarm_bolt AlarmBolt",
        runs=[[feed("roof", 20.5), feed("roof", 95.0)], [feed("roof", nan)]],
    ),
    Scenario(
        topology="storm_py/sensors",
        component="readings_spout ReadingsSpout",
        conf={"gateway.host": "gateway"},
        runs=SPOUT,
    ),
    Scenario(
        topology="pyleus/page-views",
        component="page_views.top_pages TopPagesBolt",
        tick_secs=10,
        runs=[[feed("/")] * 1000, [feed("mailto:")], [feed("/"), wait(10)]],
    ),
    Scenario(
        topology="pyleus/page-views",
        component="page_views.store StoreBolt",
        arguments=["--options", '{"database": "db"}'],
        runs=[[feed("/", 1000)] * 100, [*[feed("/", 1000)] * 99, feed("/away", 1000)]],
        healthy_runs=[[feed("/", 1000), tick]],
        sick_runs=[[feed("/", 1000)]],
    ),
    Scenario(
        topology="pyleus/page-views",
        component="page_views.access_log AccessLogSpout",
        arguments=["--options", '{"log_file": "access.log"}'],
        runs=[[next_tuple, next_tuple]],
        healthy_runs=SPOUT,
    ),
    Scenario(
        topology="petrel/orders",
        component="customs CustomsBolt",
        runs=[[feed(1, "DE", 10.0)], [feed(2, "CH", 10.0)]],
    ),
    Scenario(
        topology="petrel/orders",
        component="archive ArchiveBolt",
        conf={"vault.path": "vault"},
        runs=[
            [feed(1, "paper"), feed(2, "paper"), tick],
            [feed(1, "full"), tick],
            [*[feed(1, "paper")] * 51, tick],
            [tick],
        ],
    ),
    Scenario(
        topology="petrel/orders",
        component="orders OrdersSpout",
        conf={"orders.mailbox": "mailbox"},
        runs=SPOUT,
    ),
    Scenario(
        topology="heronpy/sensors",
        component="clean CleanBolt",
        runs=[[feed("roof", 20.54)], [feed("roof", None)], [feed("roof", 20.54), tick], [tick]],
    ),
    Scenario(
        topology="heronpy/sensors",
        component="hourly HourlyBolt",
        conf={"archive.url": "archive", "tumblingwindowbolt_duration_secs": 3600},
        tick_secs=3600,
        runs=[[feed("roof", 20.5), feed("cellar", 8.5), wait(3600)]],
    ),
    Scenario(
        topology="heronpy/sensors",
        component="readings ReadingsSpout",
        conf={"broker.url": "broker"},
        runs=SPOUT,
    ),
)
