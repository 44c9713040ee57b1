"""Any input gives a unit or a report of one line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ackdoctor.frontends.python import lower_source
from ackdoctor.model.cfg import Unit
from ackdoctor.model.finding import Unreadable
from tests.frontends.python.lowered import lower


def complaint(data):
    lowered = lower(data if isinstance(data, bytes) else data.encode())
    assert isinstance(lowered, Unreadable)
    assert "\n" not in lowered.reason
    return (lowered.line, lowered.column, lowered.reason)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"a = 1\nb = '\xff'\n", (2, 6, "byte 0xff cannot be decoded as utf-8: invalid start byte")),
        (b"a\r\n\xe4 ", (2, 1, "byte 0xe4 cannot be decoded as utf-8: invalid continuation byte")),
        (
            b"# coding: ascii\n\n'\xe4'\n",
            (3, 2, "byte 0xe4 cannot be decoded as ascii: ordinal not in range(128)"),
        ),
        (b"a = 1\nb\0 = 2\n", (2, 2, "a NUL byte: not source text")),
        (
            b"# -*- coding: klingon -*-\n",
            (1, 1, "Python reads no source files in this encoding: klingon"),
        ),
        (
            b"#!/usr/bin/python\n# vim: set fileencoding=klingon :\n",
            (2, 1, "Python reads no source files in this encoding: klingon"),
        ),
        (b"# coding: rot13\n", (1, 1, "Python reads no source files in this encoding: rot13")),
        ("x = 'ä' $\n".encode(), (1, 9, "syntax error: invalid syntax")),
        (b"x = 1\ndef f(:\n", (2, 7, "syntax error: invalid syntax")),
        (b"x = (1,\n\ny = 2\n", (1, 5, "syntax error: '(' was never closed")),
    ],
)
def test_the_reason_for_an_unreadable_file(data, expected):
    assert complaint(data) == expected


@pytest.mark.parametrize(
    "data",
    [
        b"# coding: latin-1\nx = '\xe4'\n",
        b"\n# -*- coding: cp1252 -*-\nx = '\xe4'\n",
        "\ufeffx = 'ä'\n".encode(),
    ],
)
def test_the_declared_encoding_is_used(data):
    lowered = lower(data)
    assert isinstance(lowered, Unit)
    assert lowered.values["x"].value == "ä"


def test_a_cookie_on_the_third_line_is_ignored():
    assert isinstance(lower(b"a\nb\n# coding: klingon\n"), Unit)


@pytest.mark.parametrize("data", [b"", b"\n", b"\xef\xbb\xbf", b"# only this", b"\x0c", b"'''doc'''", b"   "])
def test_an_empty_file_is_a_unit(data):
    assert isinstance(lower(data), Unit)


DEEP = {
    "sum": lambda n: "x = " + "+".join(["a"] * n),
    "parentheses": lambda n: "x = " + "(" * n + "a" + ")" * n,
    "parentheses over lines": lambda n: "x = " + "(\n" * n + "a" + "\n)" * n,
    "lists": lambda n: "x = " + "[" * n + "]" * n,
    "dicts": lambda n: "x = " + "{1: " * n + "2" + "}" * n,
    "calls": lambda n: "x = " + "f(" * n + ")" * n,
    "chained calls": lambda n: "x = a" + ".b()" * n,
    "subscripts": lambda n: "x = a" + "[0]" * n,
    "nots": lambda n: "x = " + "not " * n + "a",
    "powers": lambda n: "x = " + "**".join(["a"] * n),
    "lambdas": lambda n: "x = " + "lambda: " * n + "a",
    "ternaries": lambda n: "x = " + "a if b else " * n + "c",
    "comprehensions": lambda n: "x = [a " + "for a in b " * n + "]",
    "strings": lambda n: "x = (" + "'a'\n" * n + ")",
    "continuations": lambda n: "x = a" + " + \\\n a" * n,
    "f-string": lambda n: 'x = f"{' + "(" * n + "a" + ")" * n + '}"',
    "blocks": lambda n: "".join(" " * i + "if a:\n" for i in range(n)) + " " * n + "pass\n",
    "lambdas in brackets": lambda n: "x = " + ("lambda: " * 90 + "(") * (n // 90) + "1" + ")" * (n // 90),
    "withs": lambda n: "with " + ", ".join(["a()"] * n) + ": pass",
    "open brackets": lambda n: "(" * n,
}


@pytest.mark.parametrize("shape", sorted(DEEP))
def test_deep_nesting_is_refused(shape):
    source = DEEP[shape](5000)
    line, _, reason = complaint(source)
    assert reason == "nested too deeply" or (shape == "blocks" and reason.startswith("syntax error: "))
    assert line <= len(source.splitlines())


@pytest.mark.parametrize(
    "shape", sorted(set(DEEP) - {"comprehensions", "lambdas in brackets", "open brackets"})
)
def test_usual_nesting_is_lowered(shape):
    assert isinstance(lower(DEEP[shape](80).encode()), Unit)


@pytest.mark.parametrize(
    "source",
    [
        "x = [\n" + "    (a + b, f(c), {'k': [1]}),\n" * 3000 + "]",
        "x = {" + ", ".join(f"'k{i}': a + {i} * (b - 1)" for i in range(1500)) + "}",
        "x = '" + "(" * 5000 + "'",
        "if a:\n pass\n" + "elif b:\n pass\n" * 1000,
        "# " + "[" * 5000,
    ],
)
def test_long_code_is_not_refused_as_deep(source):
    assert isinstance(lower(source.encode()), Unit)


@pytest.mark.parametrize(
    "source",
    [
        "break",
        "continue",
        "return 1",
        "yield 1",
        "await x",
        "nonlocal x",
        "def f(a, a): pass",
        "x = '\\N{no}'",
        "del f()",
    ],
)
def test_code_that_only_the_compiler_refuses_does_not_crash(source):
    assert isinstance(lower(source.encode()), (Unit, Unreadable))


PIECES = st.lists(
    st.sampled_from(
        [
            "def f(a): ",
            "class A(B):",
            "if a:",
            "else:",
            "try:",
            "finally:",
            "except E, e:",
            "with a as b:",
            "for a in b:",
            "while a:",
            "match a:",
            "case 1:",
            "print a",
            "print >>a, b",
            "exec a",
            "return",
            "yield a",
            "raise A, b",
            "lambda (a, b): c",
            "a = b",
            "(",
            ")",
            "[",
            "]",
            "{",
            "}",
            "`",
            "'",
            '"""',
            "\\",
            "\n",
            "\n    ",
            "\n\t",
            "\n        ",
            ";",
            ":",
            ",",
            "=",
            ":=",
            "0777",
            "10L",
            "ur'a'",
            "f'{a}'",
            "#",
            "\x0c",
            "\r",
            "async",
            "await",
            "global a",
            "@a",
            "*",
            "**",
            "...",
            "é",
            "<>",
        ]
    ),
    max_size=30,
)


@given(PIECES)
def test_random_python_words_do_not_crash(pieces):
    lowered = lower_source(path="a.py", module="a", is_package=False, data=" ".join(pieces).encode())
    assert isinstance(lowered, (Unit, Unreadable))


@given(st.binary(max_size=60))
def test_random_bytes_do_not_crash(data):
    lowered = lower_source(path="a.py", module="a", is_package=False, data=data)
    assert isinstance(lowered, (Unit, Unreadable))
