"""What ShellBolt and ShellSpout on the Java side answer to a component that breaks the protocol.

Shared by every dialect that speaks multilang over a pipe.  Read: apache/storm
storm-client/src/jvm/org/apache/storm/task/ShellBolt.java:176-262 and spout/ShellSpout.java:196-219
@ v2.8.8; the same in 0.9.7, 0.10.2, 1.0.0 and 1.2.4.
"""

from collections.abc import Mapping

from ackdoctor.model.dialect import Misuse, Price

__all__ = ["BOLT_NOTES", "BOLT_PRICES", "SPOUT_NOTES", "SPOUT_PRICES"]

_EXITS = "and the worker exits"

BOLT_PRICES: Mapping[Misuse, tuple[Price, ...]] = {
    Misuse.TWICE: (Price.KILL,),
    Misuse.MIXED: (Price.KILL,),
    Misuse.NEVER: (Price.LEAK, Price.TIMEOUT),
    Misuse.UNANCHORED: (Price.LOSS,),
    Misuse.LATE_EMIT: (Price.KILL,),
    Misuse.TICK_TWICE: (Price.KILL,),
    Misuse.TICK_NEVER: (Price.LEAK,),
    Misuse.SWALLOWED: (Price.LOSS,),
    Misuse.STDOUT: (Price.KILL,),
    Misuse.OFF_THREAD: (Price.KILL,),
    Misuse.EARLY: (Price.LOSS,),
    Misuse.NEVER_RUNS: (Price.LEAK, Price.TIMEOUT),
}

BOLT_NOTES: Mapping[Misuse, str] = {
    Misuse.TWICE: f'ShellBolt answers "Acked a non-existent or already acked/failed id" {_EXITS}',
    Misuse.MIXED: f'ShellBolt answers "Acked (or Failed) a non-existent or already acked/failed id" {_EXITS}',
    Misuse.NEVER: "its entry stays in ShellBolt.inputs for the life of the worker, and its tree times out",
    Misuse.UNANCHORED: "the tree ends here: whatever fails downstream is never replayed",
    Misuse.LATE_EMIT: f'ShellBolt answers "Anchored onto ... after ack/fail" {_EXITS}',
    Misuse.TICK_TWICE: f'ShellBolt answers "Acked a non-existent or already acked/failed id" {_EXITS}',
    Misuse.TICK_NEVER: "ShellBolt.inputs grows by one entry per tick",
    Misuse.SWALLOWED: "the spout sees an ack for a tuple whose work was not done",
    Misuse.STDOUT: f"the text lands between the protocol's messages, ShellBolt cannot parse it {_EXITS}",
    Misuse.OFF_THREAD: f"two threads write into one pipe, ShellBolt cannot parse what arrives {_EXITS}",
    Misuse.EARLY: "what fails after the ack is never replayed",
    Misuse.NEVER_RUNS: "the call makes a generator or coroutine that nobody runs, and nothing completes the tuple",
}

SPOUT_PRICES: Mapping[Misuse, tuple[Price, ...]] = {
    Misuse.STDOUT: (Price.KILL,),
    Misuse.NO_MESSAGE_ID: (Price.LOSS,),
    Misuse.SPOUT_COMPLETES: (Price.KILL,),
    Misuse.NEVER_RUNS: (Price.LOSS,),
    Misuse.NEVER_RETURNS: (Price.KILL, Price.TIMEOUT),
}

SPOUT_NOTES: Mapping[Misuse, str] = {
    Misuse.STDOUT: f"the text lands between the protocol's messages, ShellSpout cannot parse it {_EXITS}",
    Misuse.NO_MESSAGE_ID: "Storm does not track the tuple and will never call ack or fail for it",
    Misuse.SPOUT_COMPLETES: f'ShellSpout answers "Unknown command received" {_EXITS}',
    Misuse.NEVER_RUNS: "the call makes a generator or coroutine that nobody runs, and nothing is emitted",
    Misuse.NEVER_RETURNS: "ShellSpout waits for the answer meanwhile: no ack, fail or deactivation arrives, and where nothing is "
    'emitted for as long as a worker\'s timeout (30 s) it says "subprocess heartbeat timeout" '
    f"{_EXITS}",
}
