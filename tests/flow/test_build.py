"""The graph builder, called as a frontend calls it."""

from ackdoctor.flow.build import CfgBuilder, Fork, Handler
from ackdoctor.model.cfg import Bind, Call, EdgeKind, Global, Item, Jump, Literal, Name, Way
from ackdoctor.model.source import NOWHERE
from tests.flow.cfg_dump import dump


def call(builder, name):
    builder.add(Call(builder.temp(), Global(name), ()), NOWHERE)


def lines(builder):
    """The dump without spans, EXIT and RAISED."""
    shown = [line for line in dump(builder.finish()).splitlines() if not line.startswith(("1 ", "2 "))]
    return [line.replace("1:1-1:1 ", "") for line in shown]


def adding(builder, op):
    def body():
        builder.add(op, NOWHERE)

    return body


def doing(builder, *names):
    def body():
        for name in names:
            call(builder, name)

    return body


def test_an_empty_function_leads_to_the_exit():
    assert lines(CfgBuilder()) == ["0 ENTRY -> NEXT 1"]


def test_code_after_a_return_is_omitted():
    builder = CfgBuilder()
    builder.leave(None, NOWHERE)
    assert not builder.alive
    call(builder, "never")
    builder.loop_for(NOWHERE, None, Name("x"), doing(builder, "never"))
    builder.attempt(doing(builder, "never"), [], None, doing(builder, "never"))
    assert lines(builder) == ["0 ENTRY -> NEXT 3", "3 Return -> NEXT 1"]


def test_temporaries_are_numbered_from_one():
    builder = CfgBuilder()
    assert [builder.temp().id, builder.temp().id] == ["%1", "%2"]


def test_a_branch_joins_its_two_sides():
    builder = CfgBuilder()
    builder.branch(builder.test(Name("a"), NOWHERE), doing(builder, "yes"), doing(builder, "no"))
    call(builder, "after")
    assert lines(builder) == [
        "0 ENTRY -> NEXT 3",
        "3 Test a -> TRUE 4, FALSE 5",
        "4 Call %1 = @yes() -> NEXT 6, RAISE 2",
        "5 Call %2 = @no() -> NEXT 6, RAISE 2",
        "6 Call %3 = @after() -> NEXT 1, RAISE 2",
    ]


def test_a_branch_without_an_else_falls_through():
    builder = CfgBuilder()
    builder.branch(builder.test(Name("a"), NOWHERE), doing(builder, "yes"), None)
    assert lines(builder)[1] == "3 Test a -> TRUE 4, FALSE 1"


def test_a_negated_condition_swaps_its_ends():
    builder = CfgBuilder()
    builder.branch(builder.test(Name("a"), NOWHERE).swapped(), doing(builder, "no"), None)
    assert lines(builder)[1] == "3 Test a -> TRUE 1, FALSE 4"


def test_a_back_edge_keeps_the_branch_of_a_test():
    builder = CfgBuilder()

    def body():
        builder.branch(builder.test(Name("a"), NOWHERE), doing(builder, "yes"), None)

    builder.loop_for(NOWHERE, Name("x"), Name("xs"), body)
    assert lines(builder) == [
        "0 ENTRY -> NEXT 3",
        "3 Next #1 x in xs -> TRUE 4, FALSE 1, RAISE 2",
        "4 Test a -> TRUE 5, FALSE 6",
        "5 Call %1 = @yes() -> NEXT 6, RAISE 2",
        "6 Jump repeat -> BACK 3",
    ]


def test_a_loop_with_a_false_condition_is_skipped():
    builder = CfgBuilder()
    builder.loop_while(NOWHERE, lambda: Fork([], builder.take()), doing(builder, "never"))
    call(builder, "after")
    assert lines(builder) == ["0 ENTRY -> NEXT 3", "3 Call %2 = @after() -> NEXT 1, RAISE 2"]


def test_an_endless_loop_goes_back_to_its_header():
    builder = CfgBuilder()
    builder.loop_while(NOWHERE, lambda: Fork(builder.take(), []), doing(builder, "work"))
    assert lines(builder) == [
        "0 ENTRY -> NEXT 3",
        "3 Jump while -> NEXT 4",
        "4 Call %1 = @work() -> BACK 3, RAISE 2",
    ]


def test_a_labelled_break_leaves_the_outer_loop():
    builder = CfgBuilder()

    def inner():
        builder.jump("break", NOWHERE, "outer")

    def outer():
        builder.loop_for(NOWHERE, Name("y"), Name("ys"), inner)

    builder.loop_for(NOWHERE, Name("x"), Name("xs"), outer, label="outer")
    call(builder, "after")
    assert lines(builder)[3:] == [
        "5 Jump break -> NEXT 7",
        "6 Jump repeat -> BACK 3",
        "7 Call %1 = @after() -> NEXT 1, RAISE 2",
    ]


def test_a_computing_step_has_a_raise_edge_only_inside_a_try():
    item = Bind(Name("x"), Item(Name("a"), Literal(0)))
    builder = CfgBuilder()
    builder.add(item, NOWHERE)
    builder.attempt(
        adding(builder, item),
        [Handler(("KeyError",), "e", NOWHERE, doing(builder, "caught"))],
    )
    assert lines(builder) == [
        "0 ENTRY -> NEXT 3",
        "3 Bind x = a[0] -> NEXT 4",
        "4 Bind x = a[0] -> NEXT 1, RAISE 5",
        "5 Catch KeyError as e -> TRUE 6, FALSE 2",
        "6 Call %1 = @caught() -> NEXT 1, RAISE 2",
    ]


def test_no_exception_passes_a_total_handler():
    builder = CfgBuilder()
    late = Handler(("KeyError",), None, NOWHERE, doing(builder, "never"))
    builder.attempt(
        doing(builder, "work"), [Handler((), None, NOWHERE, doing(builder, "caught"), total=True), late]
    )
    assert lines(builder)[2:] == ["4 Catch everything -> TRUE 5", "5 Call %2 = @caught() -> NEXT 1, RAISE 2"]


def test_an_else_body_is_not_guarded_by_the_handlers():
    builder = CfgBuilder()
    handler = Handler(("E",), None, NOWHERE, doing(builder, "caught"))
    builder.attempt(doing(builder, "work"), [handler], doing(builder, "good"))
    assert lines(builder)[1:3] == [
        "3 Call %1 = @work() -> NEXT 4, RAISE 5",
        "4 Call %2 = @good() -> NEXT 1, RAISE 2",
    ]


def test_a_finally_is_copied_for_each_way_into_it():
    builder = CfgBuilder()

    def body():
        builder.branch(builder.test(Name("a"), NOWHERE), lambda: builder.leave(Name("x"), NOWHERE), None)
        call(builder, "work")

    builder.attempt(body, [], None, doing(builder, "close"))
    call(builder, "after")
    cfg = builder.finish()
    assert [(step.way, [edge.target for edge in step.edges]) for step in cfg.steps if step.way] == [
        (Way.NORMAL, [9, 2]),
        (Way.RETURN, [1, 2]),
        (Way.RAISE, [2, 2]),
    ]


def nested_finallys(depth):
    """A return and a call inside `depth` nested try bodies, each with its own finally."""
    builder = CfgBuilder()

    def level(left):
        if not left:
            builder.branch(builder.test(Name("a"), NOWHERE), lambda: builder.leave(None, NOWHERE), None)
            call(builder, "work")
            return
        builder.attempt(lambda: level(left - 1), [], None, doing(builder, f"close{left}"))

    level(depth)
    return builder.finish()


def finallys_in_finallys(depth):
    builder = CfgBuilder()

    def leave_or_work():
        builder.branch(builder.test(Name("a"), NOWHERE), lambda: builder.leave(None, NOWHERE), None)
        call(builder, "work")

    def level(left):
        builder.attempt(
            leave_or_work,
            [],
            None,
            (lambda: level(left - 1)) if left else doing(builder, "last"),
        )

    level(depth)
    return builder.finish()


def test_deeply_nested_finallys_keep_the_graph_small():
    assert len(nested_finallys(3).steps) == 3 + 3 + 3 * 3
    assert len(nested_finallys(50).steps) < 3 + 3 + 3 * 50
    assert len(finallys_in_finallys(50).steps) < 20_000


def test_a_shared_finally_leads_to_the_destinations_of_all_ways():
    cfg = nested_finallys(4)
    assert {edge.target for step in cfg.steps for edge in step.edges} >= {1, 2}
    innermost = next(i for i, step in enumerate(cfg.steps) if "close1" in str(step.op))
    assert len([edge for edge in cfg.steps[innermost].edges if edge.kind is EdgeKind.NEXT]) == 3


def test_a_break_outside_any_loop_becomes_a_throw():
    builder = CfgBuilder()
    builder.jump("break", NOWHERE)
    assert lines(builder) == ["0 ENTRY -> NEXT 3", "3 Throw -> RAISE 2"]


def test_the_dump_shows_the_way_into_a_finally():
    builder = CfgBuilder()
    builder.attempt(doing(builder, "work"), [], None, adding(builder, Jump("finally")))
    assert lines(builder)[1:] == [
        "3 Call %1 = @work() -> NEXT 4, RAISE 5",
        "4 Jump finally [normal] -> NEXT 1",
        "5 Jump finally [raise] -> NEXT 2",
    ]
