"""The configuration of a topology in Java: the settings that code puts into the object that it submits."""

from collections.abc import Iterator, Sequence

from ackdoctor.model.topology import Gap, Place, Setting
from ackdoctor.topology.objects import Data, Invocation, Obj, Ref, describe
from ackdoctor.topology.readers.undecided import undecided_settings, value_of

CONFIGS = frozenset(
    f"{package}.Config"
    for package in (
        "org.apache.storm",
        "backtype.storm",
        "com.alibaba.jstorm",
        "com.twitter.heron.api",
        "org.apache.heron.api",
        "org.apache.heron.streamlet",
        "com.twitter.heron.streamlet",
    )
)
_OWN_FIELD = (
    ".ConfigurableTopology.conf"  # filled from the files after -conf, which only the command line names
)
MODE = "topology.reliability.mode"
SETTERS = {
    "setDebug": "topology.debug",
    "setNumWorkers": "topology.workers",
    "setNumAckers": "topology.acker.executors",
    "setMessageTimeoutSecs": "topology.message.timeout.secs",
    "setMaxTaskParallelism": "topology.max.task.parallelism",
    "setMaxSpoutPending": "topology.max.spout.pending",
    "setStatsSampleRate": "topology.stats.sample.rate",
    "setNumEventLoggers": "topology.eventlogger.executors",
    "setTopologyReliabilityMode": MODE,
    "setNumStmgrs": "topology.stmgrs",
    "setTopologyStatefulCheckpointIntervalSecs": "topology.stateful.checkpoint.interval.seconds",
    "setTopologyStatefulStartClean": "topology.stateful.start.clean",
}
_SPELLED = {  # constants whose key is spelled otherwise
    "topology.state.checkpoint.interval": "topology.state.checkpoint.interval.ms",
}
_ACKING = "setEnableAcking"  # Heron: the mode by a flag
_PUTS = frozenset({"put", "setProperty", "putIfAbsent", "__setitem__", "addConfiguration"})
_PUT_ALL = frozenset({"putAll", "addConfigurations", "update"})
_FILLS = ("load", "read", "fill", "configure", "apply", "populate", "merge", "init", "update", "setup")
_PREFIXES = ("topology.", "storm.", "supervisor.", "worker.", "nimbus.", "drpc.", "ui.", "heron.", "task.")


def is_config(data: Data) -> bool:
    """Whether an object is a configuration or a map."""
    return isinstance(data, Obj) and (
        data.is_one_of(CONFIGS) or isinstance(data.content, dict) or _is_own_field(data)
    )


def _is_own_field(obj: Obj) -> bool:
    return any(name.endswith(_OWN_FIELD) for name in obj.names)


def settings_of(
    conf: Data, calls: Sequence[Invocation], before: int, place: Place, component: str = ""
) -> tuple[Setting, ...]:
    """The settings in a configuration object when the call with order `before` happens; the last of a key wins."""
    if conf is None:
        return ()
    if not isinstance(conf, Obj):
        gap = conf if isinstance(conf, Gap) else Gap(describe(conf), place)
        return tuple(undecided_settings(gap, component))
    found: list[Setting] = []
    if not _is_new(conf):
        gap = Gap(f"the configuration comes from {describe(conf)}", conf.place if conf.place.path else place)
        found += undecided_settings(gap, component)
    puts = [call for call in conf.calls if call.order < before and call.kind == "call"]
    keys = {key_of(call.args[0]) for call in puts if call.name in _PUTS and call.args}
    if isinstance(conf.content, dict):
        initial = {key: value for key, value in conf.content.items() if key_of(key) not in keys}  # type: ignore[arg-type]
        where = conf.place if conf.place.path else place
        for key, value in initial.items():
            if not any(call.name in _PUT_ALL for call in puts):
                found += _setting(key, value, where, component)  # type: ignore[arg-type]
    static = [call for call in calls if _is_on(call, conf) and call.order < before]
    for call in sorted([*puts, *static], key=lambda call: call.order):
        args = call.args[1:] if call.receiver is not conf else call.args
        found += _effect(call, args, calls, component)
        if call.name == "remove" and args:
            found = [setting for setting in found if setting.key != key_of(args[0])]
    return tuple(found)


def _is_new(conf: Obj) -> bool:
    """Whether the code shows where an object comes from, with all that it held then."""
    if _is_own_field(conf):
        return True
    if conf.given:
        return False
    if conf.made is None:
        by_key = any(call.name in _PUTS and isinstance(call.argument(0), Gap) for call in conf.calls)
        return (conf.content is not None and (by_key or not conf.open)) or conf.cls is not None
    return conf.made.name[:1].isupper() and (conf.content is not None or conf.is_one_of(CONFIGS))


def _is_on(call: Invocation, conf: Obj) -> bool:
    """Whether a static call takes a configuration as its first argument, to change it."""
    if call.receiver is conf or call.kind != "call" or call.inlined:
        return False
    if call.args and call.args[0] is conf and call.receiver is None and call.name in SETTERS:
        return True
    return any(arg is conf for arg in call.args) and call.name.lower().startswith(_FILLS)


def _effect(
    call: Invocation, args: Sequence[Data], calls: Sequence[Invocation], component: str
) -> Iterator[Setting]:
    """The settings that one call changes."""
    name, place = call.name, call.place
    if name == _ACKING and args:
        mode = value_of(args[0], place)
        if isinstance(mode, bool):
            mode = "ATLEAST_ONCE" if mode else "ATMOST_ONCE"
        yield Setting(key=MODE, value=mode, place=place, component=component)
    elif name in SETTERS and args:
        yield Setting(key=SETTERS[name], value=value_of(args[0], place), place=place, component=component)
    elif name in _PUTS and len(args) > 1:
        yield from _setting(args[0], args[1], place, component)
    elif name in _PUT_ALL and args:
        yield from settings_of(args[0], calls, call.order, place, component)
    elif call.name.lower().startswith(_FILLS):  # code that is not known fills it
        yield from undecided_settings(
            Gap(f"{describe(call.result)} fills the configuration", place), component
        )


def component_settings(
    declarer_calls: Sequence[Invocation], calls: Sequence[Invocation], component: str
) -> Iterator[Setting]:
    """The settings that the calls on a declarer give to one component."""
    for call in declarer_calls:
        if call.name in SETTERS or call.name in _PUTS or call.name in _PUT_ALL:
            yield from _effect(call, call.args, calls, component)


def _setting(key: Data, value: Data, place: Place, component: str) -> Iterator[Setting]:
    name = key_of(key)
    if name is None:
        if isinstance(key, (Gap, Obj)) and not (isinstance(key, Obj) and key.constant):
            why = f"a key of the configuration comes from {describe(key)}"
            yield from undecided_settings(Gap(why, place), component)
    elif name.startswith(_PREFIXES):
        yield Setting(key=name, value=value_of(value, place), place=place, component=component)
    elif component and isinstance(key, Ref):  # a constant of a class that is not read may be any key
        yield from undecided_settings(Gap(f"a key of the configuration is {describe(key)}", place), component)


def key_of(key: Data) -> str | None:
    """A key as text: a constant of a `Config` class is the key with dots as underscores and upper case."""
    if isinstance(key, str):
        return key
    if isinstance(key, Ref) and key.cls is None and key.last.isupper():
        return key_of_constant(key.last)
    return None


def key_of_constant(word: str) -> str:
    """The key that a constant of a `Config` class names."""
    text = word.lower().replace("_", ".")
    return _SPELLED.get(text, text)
