"""Liveness: dead locals and facts merge paths, live ones keep them apart."""

import pytest
from hypothesis import given

from ackdoctor.flow.component import solve_component
from ackdoctor.flow.context import Context
from ackdoctor.flow.events import Ended, Path, points_back, turns_back, turns_forward
from ackdoctor.flow.solver import Solver
from ackdoctor.flow.state import State
from ackdoctor.flow.transfer.liveness import live_at
from ackdoctor.flow.transfer.step import next_steps
from ackdoctor.flow.values import Const, SelfRef, Token, TokenKind, TokenRef, TokenState, Value
from ackdoctor.model.cfg import ENTRY, Call
from ackdoctor.model.protocol import Stage
from tests.checks.sources import codes, findings, in_bolt
from tests.flow.programs import link
from tests.properties.comparison import analysed, linked
from tests.properties.examples import examples, handlers

TUPLE = Token(TokenKind.INPUT, "tup")


def solved(source: str) -> Context:
    """The context after its one component's `process` was solved."""
    program = link({"bolt.py": source})
    (component,) = program.components
    context = Context(program=program, component=component, subject=TUPLE, stored_stages={})
    process = component.method("process")
    assert process is not None
    env: dict[str, Value] = {"self": SelfRef(), "tup": TokenRef(TUPLE)}
    Solver(context).solve(process, State(env=env, tokens={TUPLE: TokenState(Stage.OWED)}))
    return context


def visits(source: str) -> int:
    context = solved(source)
    assert not context.limited
    return 20_000 - context.steps_left


def choices(count: int) -> str:
    """A handler that chooses and asks so many locals, each of them done with before the next."""
    lines = ["def process(self, tup):"]
    for n in range(count):
        lines += [f"    x{n} = None", f"    if ready({n}):", f"        x{n} = find({n})"]
        lines += [f"    if x{n} is None or x{n} == 2:", f"        work({n})", f"    keep(x{n})"]
    return in_bolt("\n".join([*lines, "    self.ack(tup)"]))


def test_dead_locals_do_not_multiply_states():
    ten, twenty, forty = (visits(choices(count)) for count in (10, 20, 40))

    assert forty - twenty == 2 * (twenty - ten)
    assert forty < 30 * 40


def test_a_local_is_live_until_its_last_read():
    source = in_bolt(
        """
        def process(self, tup):
            done = False
            if ready():
                self.ack(tup)
                done = True
            work(1)
            if not done:
                self.ack(tup)
        """
    )

    assert codes(source) == []


def test_captured_locals_are_live_at_the_closure():
    source = in_bolt(
        """
        def process(self, tup):
            held = tup
            if ready():
                work(1)

            def done():
                self.ack(held)

            done()
            self.ack(tup)
        """
    )

    assert [code for _, code in codes(source)] == ["ACK103"]


def test_a_list_that_a_loop_fills_is_one_state():
    source = in_bolt(
        """
        def process(self, tup):
            held = []
            for part in tup.values:
                held = held + [tup]
            for each in held:
                self.ack(each)
                break
        """
    )

    assert visits(source) < 40


@examples(40)
@given(handlers())
def test_dead_places_decide_no_branch(made):
    _, flow = analysed(*made)
    program, component = linked(made[0])
    context = Context(program=program, component=component, subject=TUPLE, stored_stages={})
    for event in flow.events:
        for visit, _, _ in points_back(event.path):
            live = live_at(visit.function).get(visit.index)
            if live is None or visit.index == ENTRY or isinstance(visit.step.op, Call):
                continue
            assigned = {step.op.result.id for step in visit.function.cfg.steps if isinstance(step.op, Call)}
            dead = {name: Const(0) for name in assigned | visit.state.env.keys() if name not in live.names}
            poisoned = visit.with_state(visit.state.replace(env={**visit.state.env, **dead}))

            assert _ways(context, poisoned) == _ways(context, visit)


def _ways(context: Context, visit: Path) -> set[object]:
    return {(way.kind, way.target, frozenset(way.state.tokens.items())) for way in next_steps(context, visit)}


# ---- long paths ----


def _ends(source: str) -> list[Ended]:
    program = link({"bolt.py": source})
    (component,) = program.components
    (flow,) = (flow for flow in solve_component(program, component) if flow.entry is not None)
    return [event for event in flow.events if isinstance(event, Ended)]


@pytest.mark.parametrize("calls", [10, 1000])
def test_a_straight_path_has_a_constant_number_of_turns(calls):
    lines = ["def process(self, tup):", *["    work(1)"] * calls, "    self.ack(tup)"]
    (end,) = _ends(in_bolt("\n".join(lines)))

    assert sum(1 for _ in points_back(end.path)) > calls
    assert [station.visit.index for station in turns_forward(end.path)] == [ENTRY, calls + 3, 1]
    assert [station.visit for station in turns_back(end.path)] == [
        station.visit for station in reversed(list(turns_forward(end.path)))
    ]


def test_a_long_path_shows_its_first_and_last_steps():
    lines = ["def process(self, tup):"]
    for n in range(100):
        lines += [f"    if ready({n}):", f"        work({n})"]
    (found,) = findings(in_bolt("\n".join([*lines, "    self.ack(tup)", "    self.ack(tup)"])))
    steps = found.evidence.steps

    assert len(steps) == 40
    assert [step.note for step in steps[:2]] == ["received", "`ready(0)` is false"]
    assert [step.note for step in steps[-2:]] == ["acked", "acked again"]
