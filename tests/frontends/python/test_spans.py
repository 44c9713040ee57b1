"""The span of each step."""

import pytest

from ackdoctor.model.cfg import Bind, Call, Catch, Jump, Next, Return, Test, Throw, Unpack, Update, Yield
from tests.frontends.python.lowered import only_function, unit
from tests.frontends.steps_and_spans import text_of


def texts(source, kind):
    function = only_function(source)
    return [text_of(source, step.span) for step in function.cfg.steps if isinstance(step.op, kind)]


@pytest.mark.parametrize(
    ("body", "kind", "expected"),
    [
        ("self.ack(tup)", Call, ["self.ack(tup)"]),
        ("x = ( f (a) ) . g(b)", Call, ["f (a)", "( f (a) ) . g(b)"]),
        ("x  =  a; y = b ;", Bind, ["x  =  a", "y = b"]),
        ("a, b = c  # why", Unpack, ["a, b = c"]),
        ("a  += 1", Update, ["a  += 1"]),
        ("if (a and\n            b): pass", Test, ["a", "b"]),
        ("if not (a): pass", Test, ["a"]),
        ("if 1 < (a) < 3: pass", Test, ["1 < (a)", "(a) < 3"]),
        ("while a : pass", Jump, ["pass"]),
        ("while True : f()", Jump, ["while True"]),
        ("for a in (b, c) : pass", Next, ["for a in (b, c)"]),
        ("x = [a for a in (b) if a]", Next, ["for a in (b)"]),
        ("x = [a\n       for a\n       in b]", Next, ["for a\n       in b"]),
        ("try: f()\n    except (A,\n            B) as e : pass", Catch, ["except (A,\n            B) as e"]),
        ("try: f()\n    except : pass", Catch, ["except"]),
        ("try: f()\n    finally : pass", Jump, ["finally", "pass", "finally", "pass"]),
        ("return  a , b", Return, ["return  a , b"]),
        ("return", Return, ["return"]),
        ("raise E from e", Throw, ["raise E from e"]),
        ("assert a, b", Throw, ["assert a, b"]),
        ("x = yield  a", Yield, ["yield  a"]),
        ("x = (yield)", Yield, ["yield"]),
        ("with a as b : pass", Jump, ["with a as b", "pass"]),
        ("with a, (f(b)) as c: pass", Bind, ["(f(b)) as c"]),
        ("import a, b", Jump, ["import a, b"]),
        ("x = a if b else (c)", Bind, ["a", "c", "x = a if b else (c)"]),
        ("def inner(): pass", Bind, ["def inner"]),
        ("x = lambda:  f( 1 )", Bind, ["x = lambda:  f( 1 )"]),
    ],
)
def test_the_span_of(body, kind, expected):
    assert texts(f"def handler():\n    {body}\n", kind) == expected


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_every_kind_of_line_end_is_read(end):
    source = end.join(["def f():", "    '''one", "two'''", "    return (a,", "        g(b))", ""])
    function = unit(source.encode()).functions["f"]
    (call,) = (step.span for step in function.cfg.steps if isinstance(step.op, Call))
    assert call == (5, 9, 5, 13)
    (leaving,) = (step.span for step in function.cfg.steps if isinstance(step.op, Return))
    assert leaving == (4, 5, 5, 14)


def test_columns_count_characters_and_a_tab_is_one():
    function = only_function("def f():\n\tx = 'äöü🐍'; g(x)\n")
    (call,) = (step.span for step in function.cfg.steps if isinstance(step.op, Call))
    assert call == (2, 14, 2, 18)


def test_a_form_feed_counts_as_a_character_and_ends_no_line():
    function = only_function("a = 1\n\x0cdef f():\n    g()\n")
    assert function.head == (2, 6, 2, 7)
    assert function.cfg.steps[3].span == (3, 5, 3, 8)


def test_a_byte_order_mark_shifts_no_column():
    function = unit("\ufeffdef f(): g()\n".encode()).functions["f"]
    assert function.cfg.steps[3].span == (1, 10, 1, 13)


def test_a_file_need_not_end_in_a_line_end():
    function = unit(b"def f(): g()").functions["f"]
    assert function.span == (1, 1, 1, 13)


def test_the_span_of_a_function_starts_at_def_and_its_head_is_the_name():
    source = "@a\n@b(1)\nasync def  handler (x):\n    pass\n    pass\n\n"
    function = only_function(source)
    assert text_of(source, function.span) == "async def  handler (x):\n    pass\n    pass"
    assert text_of(source, function.head) == "handler"


def test_the_span_of_a_class_starts_at_class_and_its_head_is_the_name():
    source = "@a\nclass  Bolt (Base) :\n    x = 1 ; y = 2\n"
    info = unit(source).classes["Bolt"]
    assert text_of(source, info.span) == "class  Bolt (Base) :\n    x = 1 ; y = 2"
    assert text_of(source, info.head) == "Bolt"
    assert {name: text_of(source, span) for name, span in info.attr_spans.items()} == {
        "x": "x = 1",
        "y": "y = 2",
    }


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a = 1\n\x0cf(a)\n", (2, 2, 2, 6)),
        ("a = 1\n \\\n f(a)\n", (3, 2, 3, 6)),
        ("try: f()\nexcept (A) :\n  pass\ng(a)\n", (4, 1, 4, 5)),
        ("\x0c\x0cx = f(a)", (1, 7, 1, 11)),
    ],
)
def test_white_space_that_the_parser_loses_shifts_no_span(source, expected):
    body = unit(source.encode()).body
    assert [step.span for step in body.cfg.steps if isinstance(step.op, Call)][-1] == expected
