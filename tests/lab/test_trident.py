"""Trident's batches: which emitter and which state give exactly once, and what a fault repeats."""

import pytest

from ackdoctor.lab.cluster import Cluster
from ackdoctor.lab.component import WorkerDiedError
from ackdoctor.lab.runtime import lossy
from ackdoctor.lab.topology import ACKER
from ackdoctor.lab.trident import (
    COORDINATOR,
    EMITTER,
    STATE,
    OpaqueEmitter,
    OpaqueState,
    PlainState,
    Point,
    TransactionalEmitter,
    TransactionalState,
    Trident,
    totals_of,
)

NUMBERS = 400
EXACT = totals_of(range(1, NUMBERS + 1))
EXACTLY_ONCE = [
    (TransactionalEmitter, TransactionalState),
    (TransactionalEmitter, OpaqueState),
    (OpaqueEmitter, OpaqueState),
]


def _shrinking(attempt):
    """An opaque source: the first attempt of every batch has 40 numbers, the second one 32."""
    return 40 - 8 * (attempt.attempt % 2)


def _run(
    emitter, state, *, victim=None, point=Point.AFTER, commits=(3,), seed=0, before_emit=None, **options
):
    """Kill a component at a point of some commits; the state bolt dies by an exception."""

    def on_commit(reached, commit):
        if reached is point and commit in commits:
            if victim == STATE:
                raise WorkerDiedError("in the commit")
            if victim:
                cluster.kill(victim)

    names = {"active", "state_tasks"}
    own = {name: options.pop(name) for name in names & options.keys()}
    if before_emit:
        own["before_emit"] = before_emit
    batch = _shrinking if emitter is OpaqueEmitter else 40
    trident = Trident(numbers=NUMBERS, emitter=emitter, state=state, batch=batch, on_commit=on_commit, **own)
    cluster = Cluster(trident.topology(), seed=seed, restart_s=1, **options)
    cluster.advance(600)
    return trident, cluster


@pytest.mark.parametrize("active", [1, 3])
@pytest.mark.parametrize("state", [PlainState, TransactionalState, OpaqueState])
@pytest.mark.parametrize("emitter", [TransactionalEmitter, OpaqueEmitter])
def test_without_faults_every_state_is_exact(emitter, state, active):
    trident, cluster = _run(emitter, state, active=active)
    assert (trident.totals(), cluster.deaths, list(cluster.pending())) == (EXACT, [], [])


@pytest.mark.parametrize("active", [1, 3])
@pytest.mark.parametrize("point", Point)
@pytest.mark.parametrize("victim", [COORDINATOR, ACKER, EMITTER, STATE])
@pytest.mark.parametrize(("emitter", "state"), EXACTLY_ONCE)
def test_a_state_that_knows_the_txid_is_exact(emitter, state, victim, point, active):
    trident, cluster = _run(emitter, state, victim=victim, point=point, active=active)
    assert (trident.totals(), len(cluster.deaths)) == (EXACT, 1)


@pytest.mark.parametrize("victim", [COORDINATOR, ACKER, STATE])
def test_a_plain_state_counts_a_replayed_batch_twice(victim):
    trident, _ = _run(TransactionalEmitter, PlainState, victim=victim)
    assert trident.totals().added == NUMBERS + 40
    assert trident.totals().distinct == NUMBERS


def test_a_plain_state_keeps_half_a_write():
    trident, _ = _run(TransactionalEmitter, PlainState, victim=STATE, point=Point.HALFWAY)
    assert trident.totals().added == NUMBERS + 20


def test_a_fault_before_the_write_repeats_nothing_even_in_a_plain_state():
    trident, _ = _run(TransactionalEmitter, PlainState, victim=STATE, point=Point.BEFORE)
    assert trident.totals() == EXACT


def test_a_transactional_state_needs_equal_batches():
    """The replay has 32 of 40 numbers; the other 8 come again in the next transaction."""
    trident, _ = _run(OpaqueEmitter, TransactionalState, victim=STATE)
    assert trident.totals().added == NUMBERS + 8


@pytest.mark.parametrize(("emitter", "state"), EXACTLY_ONCE)
def test_an_emitter_that_dies_in_a_batch_emits_it_again(emitter, state):
    numbers = iter([100, 250])
    poison = next(numbers)

    def before_emit(number):
        nonlocal poison
        if number == poison:
            poison = next(numbers, 0)
            raise WorkerDiedError("while emitting")

    trident, cluster = _run(emitter, state, before_emit=before_emit, active=2)
    assert (trident.totals(), [death.component for death in cluster.deaths]) == (EXACT, [EMITTER] * 2)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("emitter", "state"), EXACTLY_ONCE)
def test_a_lossy_network_changes_no_total(emitter, state, seed):
    trident, cluster = _run(emitter, state, loss=lossy(0.005), seed=seed, active=2, state_tasks=2)
    cluster.advance(7200)
    assert cluster.lost > 0
    assert trident.totals() == EXACT


def test_transactions_commit_in_order():
    order = []
    trident, _ = _run(TransactionalEmitter, TransactionalState, active=4)
    state = trident.states[0]

    class Watched(TransactionalState):
        def update(self, txid, key, added):
            order.append(txid)
            super().update(txid, key, added)

    assert state.values()
    _run(TransactionalEmitter, Watched, active=4, victim=ACKER)
    assert order == sorted(order)
    assert set(order) == set(range(1, 11))


def test_trident_needs_ackers():
    trident = Trident(numbers=NUMBERS, emitter=TransactionalEmitter, state=TransactionalState)
    with pytest.raises(ValueError, match="Trident needs an acker"):
        trident.topology(ackers=0)
