"""What each component of the fixtures is given, so that every way through it is taken.

A scene's takes are played apart, each with a new component: the first mistake ends a worker.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import nan
from typing import Any, TypeAlias

__all__ = ["SCENES", "Act", "Scene", "Take", "dies"]

Act: TypeAlias = Callable[[Any], object]  # something done to a bench
Take: TypeAlias = Sequence[Act]


@dataclass(slots=True, kw_only=True)
class Scene:
    """One component; only the healthy twin plays the `mended` takes, and only the sick one the `broken`."""

    topology: str
    component: str  # "bolts.split SplitBolt"
    takes: Sequence[Take]
    mended: Sequence[Take] = ()
    broken: Sequence[Take] = ()
    tick_secs: int | None = None
    conf: Mapping[str, object] = field(default_factory=dict)
    arguments: Sequence[str] = ()  # of the component's command line


def feed(*values: Any) -> Act:
    return lambda bench: bench.feed(*values)


def dies(bench: Any) -> None:
    """The handler raises, which ends the worker; the sick twin may not get that far."""
    assert bench.died


def wait(seconds: float) -> Act:
    return lambda bench: bench.advance(seconds)


def tick(bench: Any) -> None:
    bench.tick()


def ask(bench: Any) -> None:
    bench.next_tuple()


def ack(bench: Any) -> None:
    bench.ack(bench.waiting[0])


def fail(bench: Any) -> None:
    bench.fail(bench.waiting[0])


SPOUT: Sequence[Take] = ((ask, ask, ask, ack, fail, ask, ack),)
LINE = {"sku": "tea", "quantity": 2, "price": 3.5}

SCENES: Sequence[Scene] = (
    Scene(
        topology="streamparse/first-steps",
        component="validate PageViewBolt",
        takes=[[feed({"url": "/", "visitor": "ann"}), feed({"url": "/"})], [feed({"visitor": "ann"})]],
    ),
    Scene(
        topology="streamparse/first-steps",
        component="store StoreBolt",
        conf={"database.url": "db"},
        takes=[[feed("/", "ann"), feed("/", "ann")], [feed("/refused", "ann")]],
    ),
    Scene(
        topology="streamparse/orders",
        component="bolts.validate ValidateBolt",
        takes=[
            [feed({"customer": "test", "lines": [LINE]})],
            [feed({"customer": "ann", "lines": []})],
            [feed({"customer": "ann", "lines": [LINE]})],
        ],
    ),
    Scene(
        topology="streamparse/orders",
        component="bolts.split SplitBolt",
        takes=[[feed({"lines": [LINE] * lines})] for lines in (0, 1, 2)],
    ),
    Scene(
        topology="streamparse/orders",
        component="bolts.ledger LedgerBolt",
        conf={"ledger.url": "ledger"},
        takes=[[feed("tea", 2, 3.5)] * 4, [feed("away", 2, 3.5)] * 4],
        mended=[[feed("tea", 2, 3.5), tick]],
    ),
    Scene(
        topology="streamparse/orders",
        component="spouts.orders OrderSpout",
        conf={"orders.queue": "orders"},
        takes=SPOUT,
    ),
    Scene(
        topology="pystorm/page-views",
        component="parse ParseBolt",
        takes=[[feed('{"visitor": "ann", "url": "/", "ts": 1}')], [feed("[")]],
        mended=[[feed("{}"), dies]],
        broken=[[feed("{}")]],
    ),
    Scene(
        topology="pystorm/page-views",
        component="sessions SessionBolt",
        takes=[
            [feed("ann", "/", 1), tick],
            [feed("ann", "/", 1), feed("bob", "/", 2), feed("ann", "/x", 3), tick],
            [tick],
        ],
    ),
    Scene(
        topology="pystorm/page-views",
        component="totals TotalsBolt",
        conf={"database.url": "db"},
        takes=[[feed("ann", "/"), feed("bob", "/"), feed("ann", "/x"), tick, tick]],
        mended=[[feed("ann", "/"), tick]],
    ),
    Scene(
        topology="pystorm/page-views",
        component="spout AccessLogSpout",
        conf={"access.log": "access.log"},
        takes=SPOUT,
    ),
    Scene(
        topology="storm_py/sensors",
        component="calibrate_bolt CalibrateBolt",
        conf={"offsets.file": "offsets"},
        takes=[[feed("roof", "20.5")], [feed("cellar", 1)], [feed("roof", "warm")], [tick, tick]],
    ),
    Scene(
        topology="storm_py/sensors",
        component="alarm_bolt AlarmBolt",
        takes=[[feed("roof", 20.5), feed("roof", 95.0)], [feed("roof", nan)]],
    ),
    Scene(
        topology="storm_py/sensors",
        component="readings_spout ReadingsSpout",
        conf={"gateway.host": "gateway"},
        takes=SPOUT,
    ),
    Scene(
        topology="pyleus/page-views",
        component="page_views.top_pages TopPagesBolt",
        tick_secs=10,
        takes=[[feed("/")] * 1000, [feed("mailto:")], [feed("/"), wait(10)]],
    ),
    Scene(
        topology="pyleus/page-views",
        component="page_views.store StoreBolt",
        arguments=["--options", '{"database": "db"}'],
        takes=[[feed("/", 1000)] * 100, [*[feed("/", 1000)] * 99, feed("/away", 1000)]],
        mended=[[feed("/", 1000), tick]],
        broken=[[feed("/", 1000)]],
    ),
    Scene(
        topology="pyleus/page-views",
        component="page_views.access_log AccessLogSpout",
        arguments=["--options", '{"log_file": "access.log"}'],
        takes=[[ask, ask]],
        mended=SPOUT,
    ),
    Scene(
        topology="petrel/orders",
        component="customs CustomsBolt",
        takes=[[feed(1, "DE", 10.0)], [feed(2, "CH", 10.0)]],
    ),
    Scene(
        topology="petrel/orders",
        component="archive ArchiveBolt",
        conf={"vault.path": "vault"},
        takes=[
            [feed(1, "paper"), feed(2, "paper"), tick],
            [feed(1, "full"), tick],
            [*[feed(1, "paper")] * 51, tick],
            [tick],
        ],
    ),
    Scene(
        topology="petrel/orders",
        component="orders OrdersSpout",
        conf={"orders.mailbox": "mailbox"},
        takes=SPOUT,
    ),
    Scene(
        topology="heronpy/sensors",
        component="clean CleanBolt",
        takes=[[feed("roof", 20.54)], [feed("roof", None)], [feed("roof", 20.54), tick], [tick]],
    ),
    Scene(
        topology="heronpy/sensors",
        component="hourly HourlyBolt",
        conf={"archive.url": "archive", "tumblingwindowbolt_duration_secs": 3600},
        tick_secs=3600,
        takes=[[feed("roof", 20.5), feed("cellar", 8.5), wait(3600)]],
    ),
    Scene(
        topology="heronpy/sensors",
        component="readings ReadingsSpout",
        conf={"broker.url": "broker"},
        takes=SPOUT,
    ),
)
