"""Helpers of a Java handler that take its input: overloads, and methods that other files of the package may call."""

import pytest

from tests.fixes.repairing import diff_of, prepare, repaired
from tests.fixes.test_java_work import HEAD

_OVERLOADS = """
    void send(Integer row) {
        collector.emit(new Values(row));
    }

    void send(String row) {
        collector.emit(new Values(row));
    }
"""
_CALLS = """        Object row = tuple.getValue(0);
        if (row instanceof Integer) {
            send((Integer) row);
        } else {
            send((String) row);
        }
        collector.ack(tuple);"""
_FIXED = [
    "-            send((Integer) row);",
    "+            send(tuple, (Integer) row);",
    "-            send((String) row);",
    "+            send(tuple, (String) row);",
    "-    void send(Integer row) {",
    "-        collector.emit(new Values(row));",
    "+    void send(Tuple tuple, Integer row) {",
    "+        collector.emit(tuple, new Values(row));",
    "-    void send(String row) {",
    "-        collector.emit(new Values(row));",
    "+    void send(Tuple tuple, String row) {",
    "+        collector.emit(tuple, new Values(row));",
]


def _bolt(body: str, methods: str = _OVERLOADS) -> str:
    text = HEAD.replace("BODY", body)
    return text[: text.rindex("}")] + methods + "}\n"


def _lines(folder, files: dict[str, str], name: str = "Case.java") -> list[str]:
    edited, _ = repaired(folder, files, unsafe=True)
    return diff_of(files[name], edited[name].decode()) if name in edited else []


def test_overloads_take_the_input(tmp_path) -> None:
    text = _bolt(_CALLS)
    assert _lines(tmp_path, {"Case.java": text}) == _FIXED
    assert repaired(tmp_path, {}, unsafe=True)[0] == {}


@pytest.mark.parametrize(
    "call",
    [
        "String row = tuple.getString(0);\n        send(row);",
        "for (final String row : rows) {\n            send(row);\n        }",
        'send("a row");',
    ],
)
def test_the_type_of_an_argument_decides_the_overload(call, tmp_path) -> None:
    idle = _OVERLOADS.replace("new Values(row)", "row", 1).replace("collector.emit(row)", "count += row")
    lines = _lines(tmp_path, {"Case.java": _bolt(f"        {call}\n        collector.ack(tuple);", idle)})
    assert "+    void send(Tuple tuple, String row) {" in lines
    assert not any("Integer" in line for line in lines)


def test_the_number_of_arguments_decides_the_overload(tmp_path) -> None:
    more = "    void send(String row, String other, String last) {\n        count++;\n    }\n"
    one = _OVERLOADS[_OVERLOADS.index("    void send(String") :]
    body = "        send(tuple.getString(0));\n        collector.ack(tuple);"
    assert _lines(tmp_path, {"Case.java": _bolt(body, f"\n{one}\n{more}")}) == [
        "-        send(tuple.getString(0));",
        "+        send(tuple, tuple.getString(0));",
        *_FIXED[-4:],
    ]


@pytest.mark.parametrize(
    ("body", "methods"),
    [
        ("        send(tuple.getInteger(0));\n        collector.ack(tuple);", _OVERLOADS),
        (_CALLS, _OVERLOADS + "\n    void send(Tuple other, Integer row) {\n        count++;\n    }\n"),
        (
            "        send(tuple.getString(0));\n        collector.ack(tuple);",
            "\n    void send(Object one, String row) {\n        count++;\n    }\n"
            + _OVERLOADS[_OVERLOADS.index("    void send(String") :],
        ),
        (_CALLS, _OVERLOADS + "\n    void send(Object... all) {\n        count++;\n    }\n"),
        (_CALLS.replace("collector.ack", "rows.forEach(this::send);\n        collector.ack"), _OVERLOADS),
        (_CALLS, _OVERLOADS.replace("void", "protected void")),
        (_CALLS, _OVERLOADS.replace("    void", "    @Deprecated void")),
        (_CALLS, _OVERLOADS + "\n    static void test(Case other) {\n        other.send(1);\n    }\n"),
    ],
    ids=[
        "unknown type",
        "taken signature",
        "a wider overload",
        "varargs",
        "reference",
        "protected",
        "annotation",
        "another object",
    ],
)
def test_a_call_that_is_not_certain_keeps_its_helper(body, methods, tmp_path) -> None:
    lines = _lines(tmp_path, {"Case.java": _bolt(body, methods)})
    assert not any("send(Tuple tuple, Integer" in line or "send(tuple, tuple" in line for line in lines)


_PACKAGE = "src/main/java/rows/Case.java"
_OTHERS = {
    "a test": (
        "src/test/java/rows/CaseTest.java",
        "class CaseTest { void test(Case bolt) { bolt.send(1); } }",
    ),
    "a heir": ("src/main/java/rows/Heir.java", "class Heir extends Case { void send(String row) { } }"),
    "a heir's heir": (
        "src/main/java/rows/Last.java",
        "class Heir extends Case { } class Last extends Heir { void go() { send(1); } }",
    ),
    "Kotlin": ("src/test/kotlin/rows/CaseTest.kt", "fun test(bolt: Case) { bolt.send(1) }"),
}


@pytest.mark.parametrize(("place", "code"), _OTHERS.values(), ids=list(_OTHERS))
def test_a_caller_in_the_package_is_named(place, code, tmp_path) -> None:
    files = {_PACKAGE: f"package rows;\n\n{_bolt(_CALLS)}", place: f"package rows;\n\n{code}\n"}
    repairs, report = prepare(tmp_path, files)
    repairs.fix(report, unsafe=True)
    assert repairs.after == {}
    name = place.rpartition("/")[2]
    assert repairs.refused == {_PACKAGE: f"`send` is not private, and {name} may call it"}


def test_other_files_of_the_package_may_have_such_methods(tmp_path) -> None:
    files = {
        _PACKAGE: f"package rows;\n\n{_bolt(_CALLS)}",
        "src/main/java/rows/Mail.java": "package rows;\n\nclass Mail { void send(int row) { } void go() { send(1); } }\n",
        "src/main/java/other/Far.java": "package other;\n\nclass Far { void go(Net net) { net.send(1); } }\n",
    }
    assert _lines(tmp_path, files, _PACKAGE) == _FIXED


def test_a_file_outside_of_its_package_is_left_alone(tmp_path) -> None:
    repairs, report = prepare(tmp_path, {"Case.java": f"package rows;\n\n{_bolt(_CALLS)}"})
    repairs.fix(report, unsafe=True)
    assert repairs.after == {}
    assert list(repairs.refused.values()) == [
        "`send` is not private, and the files of its package are unknown"
    ]
