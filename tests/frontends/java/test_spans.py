"""The span of each step; columns count characters."""

import pytest

from ackdoctor.model.cfg import Bind, Call, Catch, Jump, Next, Return, Test, Throw, Update
from tests.frontends.java.lowered import unit
from tests.frontends.steps_and_spans import text_of


def texts(source, kind):
    method = unit(source).classes["A"].methods["m"]
    return [text_of(source, step.span) for step in method.cfg.steps if isinstance(step.op, kind)]


@pytest.mark.parametrize(
    ("body", "kind", "expected"),
    [
        ("collector.ack(tuple);", Call, ["collector.ack(tuple)"]),
        ("x = ( f (a) ) . g(b);", Call, ["f (a)", "( f (a) ) . g(b)"]),
        ("a.b()\n  .c( )\n  .d();", Call, ["a.b()", "a.b()\n  .c( )", "a.b()\n  .c( )\n  .d()"]),
        ("Tuple  t = a ; x  =  b; // why", Bind, ["Tuple  t = a", "x  =  b"]),
        ("int a = 1, b = 2;", Bind, ["int a = 1", "b = 2"]),
        ("final int a = 1;", Bind, ["final int a = 1"]),
        ("i ++ ; j += 1;", Update, ["i ++", "j += 1"]),
        ("if (a &&\n  b) ;", Test, ["a", "b"]),
        ("if (!(a)) ;", Test, ["a"]),
        ("while (true) f();", Jump, ["while (true)"]),
        ("do f(); while (a);", Jump, ["do", "do"]),
        ("for (Tuple t : b) ;", Next, ["for (Tuple t : b)"]),
        ("try { f(); } catch (A |\n B e) { }", Catch, ["catch (A |\n B e)"]),
        ("try { f(); } finally { }", Jump, ["finally", "finally"]),
        ("return  a ;", Return, ["return  a"]),
        ("return ;", Return, ["return"]),
        ("throw new E() ;", Throw, ["throw new E()"]),
        ("assert a : b;", Throw, ["assert a : b"]),
        ("for (;;) { if (a) continue ; break ; }", Jump, ["for (;;)", "continue", "break"]),
        ("synchronized (a) { }", Jump, ["synchronized (a)"]),
        ("try (A a = f()) { g(); }", Call, ["f()", "g()", "A a = f()", "A a = f()"]),
        ("super.m(a);", Call, ["super", "super.m(a)"]),
        ("if (a instanceof B b) ;", Bind, ["b"]),
        ("switch (a()) { case 1, 2 -> f(); }", Test, ["1", "2"]),
    ],
)
def test_the_span_of(body, kind, expected):
    assert texts("class A { void m() {\n  " + body + "\n} }", kind) == expected


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_every_kind_of_line_end_is_read(end):
    source = end.join(["class A {", "  /* one", "two */ void m() {", "\tf(a,", "  g(b));", "} }", ""])
    method = unit(source.encode()).classes["A"].methods["m"]
    assert [step.span for step in method.cfg.steps[3:]] == [(5, 3, 5, 7), (4, 2, 5, 8)]
    assert method.span == (3, 8, 6, 2)


def test_columns_count_characters_and_a_tab_is_one():
    source = 'class A { void m() {\n\ts = "äöü🐍"; g(/* é */ x); /* ü */ } }'
    method = unit(source).classes["A"].methods["m"]
    assert [step.span for step in method.cfg.steps[3:]] == [(2, 2, 2, 12), (2, 14, 2, 26)]
    assert method.span == (1, 11, 2, 37)


def test_a_byte_order_mark_shifts_no_column():
    method = unit("\ufeffclass A { void m() { g(); } }".encode()).classes["A"].methods["m"]
    assert method.cfg.steps[3].span == (1, 22, 1, 25)


def test_latin_1_is_read_and_a_column_is_a_character():
    method = unit('class A { void m() { String ä = "é"; g(); } }'.encode("latin-1")).classes["A"].methods["m"]
    assert [step.span for step in method.cfg.steps[3:]] == [(1, 22, 1, 36), (1, 38, 1, 41)]


def test_a_method_starts_after_its_annotations_and_its_head_is_the_name():
    source = "class A {\n  /** doc */\n  @Override @B(1)\n  public final  int  m (int x) {\n  }\n}"
    method = unit(source).classes["A"].methods["m"]
    assert text_of(source, method.span) == "public final  int  m (int x) {\n  }"
    assert text_of(source, method.head) == "m"


def test_a_class_starts_after_its_annotations_and_its_head_is_the_name():
    source = "@B\npublic class  A  extends C {\n  int x = 1 , y;\n}"
    info = unit(source).classes["A"]
    assert text_of(source, info.span) == "public class  A  extends C {\n  int x = 1 , y;\n}"
    assert text_of(source, info.head) == "A"
    assert {name: text_of(source, span) for name, span in info.attr_spans.items()} == {"x": "x = 1"}


def test_the_spans_of_a_lambda_and_an_anonymous_class():
    source = "class A { void m() {\n  f(x  ->  g(x), new B() { void b() { } });\n} }"
    lowered = unit(source)
    closures = lowered.classes["A"].methods["m"].closures.values()
    assert [(each.name, text_of(source, each.span)) for each in closures] == [
        ("<lambda>", "x  ->  g(x)"),
        ("b", "void b() { }"),
    ]
    assert text_of(source, lowered.classes["A.$1"].head) == "B"
