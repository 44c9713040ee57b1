"""The algebra of the abstract domain: join is a semilattice, widening and transfer are monotone, order does not matter."""

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from ackdoctor.flow.context import Context
from ackdoctor.flow.events import Completed, Path, points_back
from ackdoctor.flow.expressions import mentions
from ackdoctor.flow.state import EMPTY, OWED, Cell, Heap, State
from ackdoctor.flow.transfer.escape import worse_state
from ackdoctor.flow.transfer.step import next_steps
from ackdoctor.flow.values import Const, Field, SelfRef, Token, TokenKind, TokenRef, TokenState, Value
from ackdoctor.model.cfg import Call, Compare, EdgeKind, Literal, Name
from ackdoctor.model.protocol import Op, Stage, Tick, move
from tests.properties.bolt_settings import Setting
from tests.properties.comparison import analysed, linked
from tests.properties.examples import examples, handlers

TOKENS = (Token(TokenKind.INPUT, "tup"), Token(TokenKind.STORED, "self.pending[...]", "pending"))

token_states = st.builds(
    TokenState,
    st.sampled_from(list(Stage)),
    st.sampled_from(list(Tick)),
    st.sampled_from(["", "keep", "self.pending"]),
)
values: st.SearchStrategy[Value] = st.one_of(
    st.builds(TokenRef, st.sampled_from(TOKENS), st.sampled_from(["", "id"])),
    st.just(SelfRef()),
    st.builds(Const, st.sampled_from([True, False, None, "a"])),
)
facts = st.dictionaries(
    st.one_of(
        st.builds(Name, st.sampled_from("abc")),
        st.builds(Compare, st.builds(Name, st.sampled_from("abc")), st.just("=="), st.just(Literal(1))),
    ),
    st.booleans(),
    max_size=3,
)
names = st.builds(Name, st.sampled_from("abc"))
heaps = st.builds(
    Heap,
    cells=st.dictionaries(
        st.builds(Cell, st.just("f:done"), st.sampled_from(["", "[0]"])),
        st.builds(Const, st.booleans()),
        max_size=2,
    ),
    objects=st.dictionaries(st.just("f:done"), st.sampled_from(["", "AtomicBoolean"])),
    escaped=st.frozensets(st.just("f:done")),
)
PARTS = "env tokens contents fields facts final aliases heap loops caught raising".split()
states = st.builds(
    State,
    env=st.dictionaries(st.sampled_from("abcd"), values, max_size=3),
    tokens=st.dictionaries(st.sampled_from(TOKENS), token_states, max_size=2),
    contents=st.dictionaries(st.just(Field("pending")), st.sampled_from([EMPTY, OWED])),
    facts=facts,
    final=facts,
    aliases=st.frozensets(st.tuples(names, names), max_size=2),
    heap=heaps,
    raising=st.sampled_from([None, "", "ValueError"]),
)


def join(*parts: list[State]) -> frozenset[object]:
    """The join of abstract states, as in the solver: one path for each key."""
    return frozenset(state.key() for part in parts for state in part)


# ---- states ----


@examples(50)
@given(st.lists(states, max_size=4), st.lists(states, max_size=4), st.lists(states, max_size=4))
def test_the_join_of_abstract_states_is_a_semilattice(one, two, three):
    assert join(one, one) == join(one)
    assert join(one, two) == join(two, one)
    assert join(one, two) | join(three) == join(one) | join(two, three)


@examples(50)
@given(states, st.randoms(use_true_random=False))
def test_the_key_of_a_state_does_not_depend_on_insertion_order(state, random):
    def shuffled(mapping):
        items = list(mapping.items())
        random.shuffle(items)
        return dict(items)

    again = state.replace(
        env=shuffled(state.env),
        tokens=shuffled(state.tokens),
        facts=shuffled(state.facts),
        final=shuffled(state.final),
        heap=state.heap._replace(cells=shuffled(state.heap.cells)),
    )

    assert again.key() == state.key()


@examples(100)
@given(states, states)
def test_states_with_any_difference_have_different_keys(one, two):
    same = all(getattr(one, part) == getattr(two, part) for part in PARTS)

    assert (one.key() == two.key()) == same


@examples(100)
@given(states, st.sampled_from("abcd"), st.one_of(st.none(), values))
def test_binding_a_name_drops_the_facts_about_it(state, name, value):
    after = state.bind(name, value)

    assert after.env.get(name) == value
    assert not any(mentions(fact, Name(name)) for fact in after.facts)
    assert not any(Name(name) in pair for pair in after.aliases)
    assert {other: old for other, old in after.env.items() if other != name} == {
        other: value for other, value in state.env.items() if other != name
    }


# ---- token states ----


@examples(100)
@given(token_states, token_states, token_states)
def test_the_worse_of_two_token_states_is_a_semilattice(one, two, three):
    assert worse_state(one, one) == one
    assert worse_state(one, two) == worse_state(two, one)
    assert worse_state(worse_state(one, two), three) == worse_state(one, worse_state(two, three))
    assert worse_state(None, one) == one


@examples(50)
@given(token_states, token_states)
def test_a_tuple_left_owed_by_one_iteration_stays_owed(one, two):
    assert (worse_state(one, two).stage is Stage.OWED) == (Stage.OWED in (one.stage, two.stage))


# ---- widening and transfer ----


@examples(100)
@given(states)
def test_a_widened_state_is_a_subset(state):
    widened = state.widen()

    assert set(widened.env.items()) <= set(state.env.items())
    assert set(widened.facts.items()) <= set(state.facts.items())
    assert widened.tokens == state.tokens
    assert widened.raising == state.raising
    assert widened.widen().key() == widened.key()


def _visits(source: str, setting: Setting) -> Iterator[tuple[Context, Path]]:
    program, component = linked(source)
    _, flow = analysed(source, setting)
    context = Context(program=program, component=component, subject=None, stored_stages={})
    seen = set()
    for event in flow.events:
        for visit, _, _ in points_back(event.path):
            if id(visit) not in seen:
                seen.add(id(visit))
                yield context, visit


@examples(40)
@given(handlers())
def test_the_transfer_functions_are_monotone(generated):
    """Widening a state removes no successor and changes no token state in one."""
    for context, visit in _visits(*generated):
        if isinstance(visit.step.op, Call):
            continue
        widened = Path(visit.function, visit.index, visit.state.widen(), visit.before, visit.via)
        allowed = _ways(context, widened)

        assert _ways(context, visit) <= allowed


def _ways(context: Context, path: Path) -> set[tuple[EdgeKind, int, frozenset[object]]]:
    return {(way.kind, way.target, frozenset(way.state.tokens.items())) for way in next_steps(context, path)}


@examples(40)
@given(handlers())
def test_every_completed_event_follows_the_protocol_table(generated):
    _, flow = analysed(*generated)
    for event in flow.events:
        if isinstance(event, Completed) and event.token is not None:
            before = event.path.state.tokens.get(event.token, TokenState(Stage.OWED)).stage
            assert event.breach is move(before, event.op).breach


@examples(60)
@given(st.lists(st.sampled_from([op for op in Op if op is not Op.END]), max_size=8))
def test_the_protocol_is_deterministic(ops):
    def walk() -> list[object]:
        state = Stage.OWED
        walked: list[object] = []
        for op in ops:
            state, breach = move(state, op)
            walked.append((state, breach))
        return walked

    assert walk() == walk()
