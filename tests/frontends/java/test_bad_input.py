"""Input that is not quite Java: a report of one line, and never a traceback."""

import pytest

from ackdoctor.frontends.java import Lowered
from ackdoctor.model.finding import Unreadable
from tests.flow.cfg_dump import show
from tests.frontends.java.lowered import PATH, all_functions, lower
from tests.frontends.steps_and_spans import steps

BOLT = """\
package a;
import b.C;
public class Bolt extends Base {
    int n;
    void prepare(Map conf) {
        x = conf;
    }
    void execute(Tuple t) {
        if (t.ok()) {
            emit(t);
        }
        ack(t);
    }
    void cleanup() { n = 1; }
    class Inner { void m() { done(); } }
}
"""


def reports(lowered):
    assert isinstance(lowered, Lowered), lowered
    return [f"{place.line}:{place.column} {place.reason}" for place in lowered.broken]


def unread(lowered):
    """The methods that could not be read."""
    return [
        each.name for each in all_functions(lowered.unit) if any("unreadable" in step for step in steps(each))
    ]


@pytest.mark.parametrize(
    ("old", "new", "expected", "methods"),
    [
        ("x = conf;", "x = conf", ["6:9 syntax error: at `x = conf`; `prepare` is not read"], ["prepare"]),
        ("n = 1;", "n = 1; x.", ["14:29 syntax error: at `x.`; `cleanup` is not read"], ["cleanup"]),
        ("(t.ok())", "(t.ok()", ["9:19 syntax error: `)` is missing; `execute` is not read"], ["execute"]),
        ("int n;", "int = ;", ["4:5 syntax error: at `int =`; `Bolt` is read only in part"], []),
        (
            "extends Base",
            "extends",
            ["3:19 syntax error: at `extends`; `Bolt` is read only in part"],
            [],
        ),
        ("ack(t);\n    }", "ack(t);\n    } }", ["16:1 syntax error: at `}`; skipped"], []),
        (
            "        ack(t);",
            "<<<<<<< HEAD\n        ack(t);\n=======\n>>>>>>> x",
            ["12:1 syntax error: at `<<<<<<<`; `execute` is not read"],
            ["execute"],
        ),
        ("package a;", "package ${a};", ["1:10 syntax error: `;` is missing; skipped"], []),
    ],
)
def test_code_outside_a_syntax_error_is_read(old, new, expected, methods):
    lowered = lower(BOLT.replace(old, new).encode())
    assert reports(lowered)[:1] == expected
    assert unread(lowered) == methods
    assert "Bolt" in lowered.unit.classes


def test_an_unreadable_method_calls_unknown_code_with_its_parameters():
    lowered = lower(BOLT.replace("ack(t);", "ack(t;").encode())
    assert steps(lowered.unit.classes["Bolt"].methods["execute"]) == ["Call %1 = {unreadable}(this, t)"]


@pytest.mark.parametrize("gap", ["int = ;", "} }", "<<<<<<<"])
def test_a_class_with_an_error_has_an_unknown_base(gap):
    lowered = lower(BOLT.replace("int n;", gap).encode())
    assert show(lowered.unit.classes["Bolt"].bases[-1]) == "{unreadable}"


def test_an_unclosed_class_keeps_the_methods_before_the_error():
    lowered = lower(BOLT.replace("emit(t);", 'emit("t);').encode())
    assert reports(lowered) == [
        "10:19 syntax error: at `t); } ack(t); } void cleanup()`; `Bolt` is read only in part"
    ]
    (bolt,) = lowered.unit.classes.values()
    assert [show(base) for base in bolt.bases] == ["@Base", "{unreadable}"]
    assert list(bolt.methods) == ["prepare"]


def test_unclosed_nested_classes_keep_their_own_methods():
    source = 'class A { void a() {} static class B extends C { void b() {} void c() { f(";'
    lowered = lower(source.encode())
    assert {name: list(info.methods) for name, info in lowered.unit.classes.items()} == {
        "A": ["a"],
        "A.B": ["b"],
    }


def test_a_type_parameter_may_lack_its_name():
    lowered = lower(BOLT.replace("void cleanup", "<@A T extends> void cleanup").encode())
    assert "cleanup" in lowered.unit.classes["Bolt"].methods


def test_a_syntax_error_in_a_method_leaves_other_classes_complete():
    lowered = lower(BOLT.replace("ack(t);", "ack(t;").encode())
    assert len(lowered.unit.classes["Bolt"].bases) == 1


@pytest.mark.parametrize(
    ("data", "line", "column", "reason"),
    [
        (b"class A {\n\x00}", 2, 1, "byte 0x00: not source text"),
        (b"\xca\xfe\xba\xbe\x00\x00\x00\x34", 1, 5, "byte 0x00: not source text"),
        (b"class A {\r\r\x01}", 3, 1, "byte 0x01: not source text"),
        (b"\xff\xfe\x00", 1, 1, "cannot be decoded as utf-16: truncated data"),
        (b"hello, world", 1, 6, "syntax error: at `,`; skipped"),
        (b"{" * 3, 1, 1, "syntax error: at `{{{`; skipped"),
    ],
)
def test_other_text_than_java_is_unreadable(data, line, column, reason):
    assert lower(data) == Unreadable(path=PATH, line=line, column=column, reason=reason)


def test_utf_16_with_a_byte_order_mark_is_read():
    lowered = lower("class Ä { void m() { f(); } }".encode("utf-16"))
    assert isinstance(lowered, Lowered)
    assert lowered.unit.classes["Ä"].methods["m"].cfg.steps[3].span == (1, 22, 1, 25)


def test_an_empty_file_has_no_classes():
    lowered = lower(b"")
    assert isinstance(lowered, Lowered)
    assert lowered == Lowered(lowered.unit, ())
    assert lowered.unit.classes == {}


NESTED = {
    "brackets": ("x = " + "(" * 9_000, "1", ")" * 9_000 + ";"),
    "blocks": ("{" * 5_000, "f();", "}" * 5_000),
    "branches": ("if (a) {" * 3_000, "f();", "}" * 3_000),
    "calls": ("f(" * 5_000, "1", ")" * 5_000 + ";"),
    "arrays": ("x = new int[]" + "{" * 5_000, "1", "}" * 5_000 + ";"),
    "signs": ("x = " + "!" * 9_000, "a", ";"),
    "tries": ("try { " * 900, "f();", "} finally { g(); }" * 900),
    "choices": ("x = " + "a ? b : " * 5_000, "c", ";"),
}


@pytest.mark.parametrize("name", sorted(NESTED))
def test_only_the_method_that_is_nested_too_deeply_is_skipped(name):
    source = "class A {\n  void m() {" + "".join(NESTED[name]) + "}\n  void n() { f(); }\n}"
    lowered = lower(source.encode())
    assert reports(lowered) == ["2:3 nested too deeply; `m` is not read"]
    assert steps(lowered.unit.classes["A"].methods["n"]) == ["Call %1 = this.f()"]


LONG = {
    "else if": ("if (a) f();", "else if (b) g();"),
    "calls in a row": ("x", ".add(1)"),
    "names in a row": ("x = a", ".b"),
    "sum": ("x = a", " + b - c"),
    "conditions": ("x = a", " && b"),
    "statements": ("f();", "f();"),
    "cases": ("switch (a) { case 1:", "case 2: f();"),
    "type arguments": ("List<", "List<"),
}
ENDS = {"cases": "}", "type arguments": "A" + ">" * 3_001 + " a;", "else if": "", "statements": ""}


@pytest.mark.parametrize("name", sorted(LONG))
def test_long_code_is_read(name):
    first, again = LONG[name]
    source = "class A { void m() {" + first + again * 3_000 + ENDS.get(name, ";") + " last(); } }"
    lowered = lower(source.encode())
    assert reports(lowered) == []
    assert steps(lowered.unit.classes["A"].methods["m"])[-1].endswith("= this.last()")


@pytest.mark.parametrize("cut", range(0, len(BOLT), 7))
def test_a_truncated_file_is_reported(cut):
    lowered = lower(BOLT[:cut].encode())
    if isinstance(lowered, Lowered) and lowered.unit.classes:
        assert lowered.broken


@pytest.mark.parametrize("place", range(len(BOLT.split(" "))))
def test_a_missing_word_loses_no_method_silently(place):
    words = BOLT.split(" ")
    lowered = lower(" ".join([*words[:place], *words[place + 1 :]]).encode())
    if isinstance(lowered, Lowered) and not lowered.broken:
        names = {each.name for each in all_functions(lowered.unit)}
        assert len(names & {"prepare", "execute", "cleanup", "m"}) >= 3
