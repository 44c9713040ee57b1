"""Predicates: the truth of conditions on one path, and what the path knows after a branch.

A path knows the outcomes of its earlier tests as facts.  The intervals of numbers decide more of them.
"""

from collections.abc import Iterator

from ackdoctor.flow.context import Context
from ackdoctor.flow.domains.domain import Domain
from ackdoctor.flow.domains.intervals import INTERVALS
from ackdoctor.flow.domains.invalidation import invalidate_aliases, invalidate_by_call
from ackdoctor.flow.domains.tuples import tick_test
from ackdoctor.flow.events import Path
from ackdoctor.flow.expressions import RESULT, last_name, mentions, names_in, renamed
from ackdoctor.flow.facts import (
    current_definition,
    definition_of,
    normalise,
    subject_of,
    tested_names,
    tested_subjects,
)
from ackdoctor.flow.final_fields import recall_final, remember_final
from ackdoctor.flow.induction import induction_variables, split_offset
from ackdoctor.flow.pure_calls import inline_calls, is_field, iterator_facts, nonempty_results
from ackdoctor.flow.state import Live, State
from ackdoctor.flow.transfer.effects import (
    ANY,
    callees,
    changed_fields,
    forget_changed_fields,
    surviving_facts,
)
from ackdoctor.flow.transfer.evaluate import evaluate, is_empty_selection
from ackdoctor.flow.values import (
    Batch,
    BoundMethod,
    Const,
    Container,
    Count,
    ExceptionValue,
    FunctionRef,
    Instance,
    SelfRef,
    TokenKind,
    TokenRef,
    Value,
)
from ackdoctor.libraries.vocabulary import HAS_NEXT
from ackdoctor.model.cfg import (
    Attr,
    Build,
    Call,
    Compare,
    Expr,
    Function,
    Global,
    IsType,
    Item,
    Literal,
    Mix,
    Name,
    Not,
)

MOST_FACTS = 60  # facts per path: a chain of `else if` may test one thing a thousand times
_CALL_RESULTS = (Const, Count)  # results of calls, as the path knows them


class Predicates(Domain):
    """What a path knows of `State.facts` and `State.final`."""

    def evaluate(self, context: Context, function: Function, state: State, expr: Expr) -> Value | None:
        """The truth of an expression that is assigned, not tested, if the path knows it; constants are left to `evaluate`."""
        if not isinstance(expr, (Name, Attr, Item, Compare, Not)):
            return None
        fact, positive = _normalised(context, function, state, expr)
        known = _decide(context, function, recall_final(context, function, state, fact), fact)
        return None if known is None else Const(known == positive)

    def assume(
        self, context: Context, path: Path, after: State, condition: Expr, *, truth: bool
    ) -> State | None:
        """The condition decides a fact, and with it the definition of the local that it tests."""
        function = path.function
        if tick_test(context, function, after, condition) is not None:
            return after
        if not any(
            isinstance(evaluate(context, function, after, side), _CALL_RESULTS)
            for side in _call_results(condition)
        ):
            condition = inline_calls(function, condition)
        fact, positive = _normalised(context, function, after, condition)
        wanted = truth == positive
        meant = current_definition(function, after, fact)
        if meant is not None and fact not in after.facts:
            learnt = self.assume(context, path, after, meant, truth=wanted)
            return None if learnt is None else _learn(context, function, learnt, fact, truth=wanted)
        known = _decide(context, function, recall_final(context, function, after, fact), fact)
        if known is not None and known != wanted:
            return None
        if known is not None and isinstance(evaluate(context, function, after, subject_of(fact)), Const):
            return after  # the constant decides it every time
        return _learn(context, function, after, fact, truth=wanted)

    def assign(
        self, context: Context, path: Path, after: State, target: Expr, source: Expr, value: Value | None
    ) -> State:
        """The facts about the value hold for its new name, if a condition tests that name."""
        del value
        if not isinstance(target, Name):
            return after
        before, facts = path.state, dict(after.facts)
        for fact in iterator_facts(path.function).get(source, ()):
            if fact in before.facts:
                facts[Mix("call", (Attr(target, HAS_NEXT),))] = before.facts[fact]
        if source in nonempty_results(path.function, context.library.nonempty):
            facts[target] = True
        if target.id in tested_names(path.function) and not mentions(source, target):
            known = self.evaluate(context, path.function, before, source)
            if isinstance(known, Const):
                facts[target] = bool(known.value)
            for fact, truth in before.facts.items():
                if isinstance(fact, Compare) and fact.left == source:
                    if not mentions(fact.right, target):  # that is the value before this assignment
                        facts[Compare(target, fact.op, fact.right)] = truth
                elif isinstance(source, Name) and {*names_in(fact)} == {source.id}:
                    facts[renamed(fact, {source.id: target.id})] = truth
            condition = definition_of(path.function, target.id, source)
            if condition is not None:
                facts[Compare(target, "==", condition)] = True
        return after.replace(facts=facts) if len(facts) > len(after.facts) else after

    def havoc(self, context: Context, path: Path, after: State, call: Call, callee: Function | None) -> State:
        """A call may change what its receiver, its arguments and the fields that it assigns are or contain."""
        function, before = path.function, path.state
        if callee is not None:
            changed = changed_fields(context, callee) if before.facts else frozenset()
            after = after.replace(facts=surviving_facts(function, before, changed))
            fields = None if ANY in changed else changed
            after = invalidate_aliases(function, path.index, before, after, fields)
            return invalidate_by_call(function, after, call)
        if before.facts and not _may_be_verb(context, function, call):
            methods = callees(context, last_name(call.func)) if is_field(function, call.func) else ()
            after = invalidate_aliases(function, path.index, before, after, _changed(context, methods))
        after = forget_changed_fields(context, function, after, call)
        return invalidate_by_call(function, after, call)

    def join(self, state: State, live: Live) -> State:
        """A fact ends with the last step that tests its subject."""
        if not state.facts or all(subject_of(fact) in live.subjects for fact in state.facts):
            return state
        facts = {fact: truth for fact, truth in state.facts.items() if subject_of(fact) in live.subjects}
        return state.replace(facts=facts)

    def leave(self, function: Function, state: State) -> State:
        """The facts about what the function returns hold for the result of its call."""
        del function
        facts = {fact: truth for fact, truth in state.facts.items() if {*names_in(fact)} == {RESULT}}
        return state.replace(facts=facts)


PREDICATES = Predicates()


def _changed(context: Context, methods: tuple[Function, ...]) -> frozenset[str] | None:
    """The fields that these methods may change; None if that is unknown."""
    changed = [changed_fields(context, method) for method in methods]
    if not changed or any(ANY in each for each in changed):
        return None
    return frozenset[str]().union(*changed)


def _may_be_verb(context: Context, function: Function, call: Call) -> bool:
    """Whether a call may be a verb of the framework, by its name."""
    names = context.own_verbs if is_field(function, call.func) else context.verb_names
    return last_name(call.func) in names


def _call_results(condition: Expr) -> Iterator[Expr]:
    """The temporaries of a condition: results of calls that the path may know better."""
    fact = normalise(condition)[0]
    for side in (fact.left, split_offset(fact.right)[0]) if isinstance(fact, Compare) else (fact,):
        if isinstance(side, Name) and side.id.startswith("%"):
            yield side


def _normalised(context: Context, function: Function, state: State, condition: Expr) -> tuple[Expr, bool]:
    """The condition in its positive form: named constants become literals, `is` becomes `==` for them, `if left` becomes `left != 0`."""
    fact, positive = normalise(condition)
    if isinstance(fact, Name) and fact.id in induction_variables(function):
        return Compare(fact, "==", Literal(0)), not positive
    if not isinstance(fact, Compare):
        return fact, positive
    match fact.op, fact.right:
        case "==" | "is", Attr() | Global() as named:
            literal = _literal_of(context, function, state, named)
            return (Compare(fact.left, "==", literal) if literal != named else fact), positive
        case "in", Build(kind=kind, items=items):
            literals = tuple(_literal_of(context, function, state, item) for item in items)
            return Compare(fact.left, "in", Build(kind, literals)), positive
        case _:
            return fact, positive


def _literal_of(context: Context, function: Function, state: State, expr: Expr) -> Expr:
    """The literal that a named constant denotes; any other expression as it is."""
    value = evaluate(context, function, state, expr) if isinstance(expr, (Attr, Global)) else None
    return Literal(value.value) if isinstance(value, Const) and value.value is not None else expr


def _decide(context: Context, function: Function, state: State, fact: Expr) -> bool | None:
    if fact in state.facts or _is_last_constant(context, state, fact):
        return state.facts.get(fact, True)
    match fact:
        case Compare(left=left, op="is", right=Literal(value=None)):
            value = evaluate(context, function, state, left)
            if isinstance(value, Const):
                return value.value is None
            if state.facts.get(left) or _truth(value):
                return False
            return None
        case Compare(left=left, op="is", right=Literal(value=bool() as wanted)):
            value = evaluate(context, function, state, left)
            return value.value is wanted if isinstance(value, Const) else None
        case Compare(left=left, op="==", right=right):
            value = evaluate(context, function, state, left)
            if isinstance(value, Const) and isinstance(right, Literal):
                return bool(value.value == right.value)
            if isinstance(value, Count) and right == Literal(0) and _truth(value):
                return False
            known = _other_equality(context, function, state, left, right)
            return _compare(context, function, state, fact) if known is None else known
        case Compare(left=left, op="in", right=whole):
            return _is_member(context, function, state, left, whole)
        case Compare(left=left, op="<" | ">" as order, right=right):
            sides = (evaluate(context, function, state, side) for side in (left, right))
            known = _ordered(order, *sides)
            return _compare(context, function, state, fact) if known is None else known
        case Mix(op="any", parts=(text,)):
            value = evaluate(context, function, state, text)
            return bool(value.value) if isinstance(value, Const) and isinstance(value.value, str) else None
        case Compare() | IsType():
            return None
        case Not(value=inner):
            known = _decide(context, function, state, inner)
            return None if known is None else not known
        case _:
            if state.facts.get(Compare(fact, "is", Literal(None))):
                return False
            known = _truth(evaluate(context, function, state, fact))
            return False if known is None and is_empty_selection(context, function, state, fact) else known


def _compare(context: Context, function: Function, state: State, fact: Expr) -> bool | None:
    """The outcome of a comparison of two numbers."""
    known = INTERVALS.evaluate(context, function, state, fact)
    return bool(known.value) if isinstance(known, Const) else None


def _ordered(order: str, left: Value | None, right: Value | None) -> bool | None:
    """The outcome of `0 < 3`: a loop between two constants, or over a literal list, runs at least once."""
    match left, right:
        case (Const(value=0), Count() as count) if order == "<":
            return _truth(count)
        case (Count() as count, Const(value=0)) if order == ">":
            return _truth(count)
        case (Count(of=whole, less=1), Const(value=0)) if order == "<" and _truth(whole):
            return False
        case _:
            return None


def _is_member(context: Context, function: Function, state: State, left: Expr, whole: Expr) -> bool | None:
    """The outcome of `x in (1, 2)`: true if the path knows `x == 2`, false if it knows that x is neither."""
    if not isinstance(whole, Build):
        return False if is_empty_selection(context, function, state, whole) else None
    known = [_decide(context, function, state, Compare(left, "==", item)) for item in whole.items]
    if any(known):
        return True
    return None if None in known else False


def _other_equality(
    context: Context, function: Function, state: State, left: Expr, wanted: Expr
) -> bool | None:
    """The outcome of `x == 1`: false if the path knows `x == 2`, `x in (2, 3)` or `x not in (1, 2)`."""
    one = _constant(context, function, state, wanted)

    def hits(item: Expr) -> bool | None:
        return _equal(one, _constant(context, function, state, item))

    for other, truth in state.facts.items():
        match other:
            case Compare(left=same, op="==", right=right) if truth and same == left:
                hit = hits(right)
                if hit is not None:
                    return hit
            case Compare(left=same, op="in", right=Build(items=items)) if same == left:
                listed = [hits(item) for item in items]
                if not truth and True in listed:
                    return False
                if truth and not any(hit is not False for hit in listed):
                    return False
                others = [item for item, hit in zip(items, listed, strict=True) if hit is not True]
                if truth and all(state.facts.get(Compare(left, "==", item)) is False for item in others):
                    return True
            case _:
                pass
    return None


def _is_last_constant(context: Context, state: State, fact: Expr) -> bool:
    """Whether a value equals the last constant of its enum: the path knows that it is none of the others."""
    if not isinstance(fact, Compare) or fact.op not in ("==", "is"):
        return False
    enums = list(_enums_with(context, fact.right))
    names = {*_constant_names(fact.right)}
    for known, truth in state.facts.items() if enums else ():
        match known:
            case Compare(left=left, op="in", right=Build(items=items)) if not truth and left == fact.left:
                names.update(name for item in items for name in _constant_names(item))
            case Compare(left=left, op="==" | "is", right=right) if not truth and left == fact.left:
                names.update(_constant_names(right))
            case _:
                pass
    return names in enums


def _constant_names(expr: Expr) -> tuple[str, ...]:
    """The name of the constant of an enum: `Color.RED`, or in a `case` only `RED`."""
    match expr:
        case Attr(name=name) | Global(id=name) | Literal(value=(_, str(name))):
            return (name,)
        case _:
            return ()


def _enums_with(context: Context, expr: Expr) -> Iterator[frozenset[str]]:
    """The constants of each enum that an expression may name one of."""
    match expr:
        case Attr(obj=Global(id=enum) | Attr(name=enum)) | Literal(value=(str(enum), str())):
            wanted = enum.rpartition(".")[2]
        case Global():
            wanted = ""
        case _:
            return
    for constant in _constant_names(expr):
        known = context.program.enums.get(constant, ())
        yield from (enum.constants for enum in known if wanted in ("", enum.name))


def _constant(context: Context, function: Function, state: State, expr: Expr) -> Const | Expr | None:
    """The constant of a comparison: a literal, or a name in capitals."""
    match expr:
        case Literal(value=value):
            return Const(value)
        case Attr(name=name) | Global(id=name) if name.isupper():
            value = evaluate(context, function, state, expr)
            return value if isinstance(value, Const) else expr
        case _:
            return None


def _equal(one: Const | Expr | None, other: Const | Expr | None) -> bool | None:
    """Whether two constants are equal; constants of different classes or of different names are not."""
    match one, other:
        case Const(value=first), Const(value=second):
            return bool(first == second)
        case Attr(obj=first, name=name), Attr(obj=second, name=named) if first == second:
            return name == named
        case Global(id=name), Global(id=named):
            return name == named
        case _:
            return None


def _truth(value: Value | None) -> bool | None:
    match value:
        case Const(value=constant):
            return bool(constant)
        case TokenRef(token=token):
            return None if token.kind is TokenKind.STORED else True
        case SelfRef() | BoundMethod() | FunctionRef() | Batch() | Instance() | ExceptionValue():
            return True
        case Container(items=items):
            return True if items else None
        case Count(of=whole, less=0):
            return _truth(whole)
        case _:
            return None


def _learn(context: Context, function: Function, state: State, fact: Expr, *, truth: bool) -> State:
    state = remember_final(context, function, state, fact, truth=truth)
    if (
        len(state.facts) < MOST_FACTS
        and subject_of(fact) in tested_subjects(function)
        and fact not in state.facts
    ):
        return state.replace(facts={**state.facts, fact: truth})
    return state
