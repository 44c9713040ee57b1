"""The kinds of bolts for generated handlers: class, switches, handler and emits."""

from dataclasses import dataclass

__all__ = ["AUTO", "BATCH", "HALF", "MANUAL", "PYLEUS", "SETTINGS", "Setting"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One base class with its switches; `anchored` and `unanchored` are emits in its syntax."""

    name: str
    module: str
    attrs: tuple[str, ...]
    handler: str
    auto_ack: bool
    auto_fail: bool
    anchored: tuple[str, ...]
    unanchored: tuple[str, ...]
    by_id: bool  # ack and fail also accept the id
    base: str = "Bolt"
    batch: bool = False  # the handler receives a list of tuples


_STREAMPARSE_ANCHORED = ("emit([1])", "emit([1], anchors=[{tup}])")
_STREAMPARSE_BARE = ("emit([1], anchors=[])",)

MANUAL = Setting(
    name="manual",
    module="streamparse",
    attrs=("auto_ack = False", "auto_fail = False"),
    handler="process",
    auto_ack=False,
    auto_fail=False,
    anchored=_STREAMPARSE_ANCHORED,
    unanchored=_STREAMPARSE_BARE,
    by_id=True,
)
HALF = Setting(
    name="half",
    module="streamparse",
    attrs=("auto_ack = False",),
    handler="process",
    auto_ack=False,
    auto_fail=True,
    anchored=_STREAMPARSE_ANCHORED,
    unanchored=_STREAMPARSE_BARE,
    by_id=True,
)
AUTO = Setting(
    name="auto",
    module="streamparse",
    attrs=(),
    handler="process",
    auto_ack=True,
    auto_fail=True,
    anchored=_STREAMPARSE_ANCHORED,
    unanchored=_STREAMPARSE_BARE,
    by_id=True,
)
PYLEUS = Setting(
    name="pyleus",
    module="pyleus.storm",
    attrs=(),
    handler="process_tuple",
    auto_ack=False,
    auto_fail=False,
    anchored=("emit([1], anchors=[{tup}])",),
    unanchored=("emit([1])", "emit([1], anchors=[])"),
    by_id=False,
)
BATCH = Setting(
    name="batch",
    module="streamparse",
    attrs=("auto_ack = False", "auto_fail = False"),
    handler="process_batch",
    auto_ack=False,
    auto_fail=False,
    anchored=_STREAMPARSE_ANCHORED,
    unanchored=_STREAMPARSE_BARE,
    by_id=True,
    base="TicklessBatchingBolt",
    batch=True,
)
SETTINGS = (MANUAL, HALF, AUTO, PYLEUS)
