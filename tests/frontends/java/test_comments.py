"""The comments and annotations of a Java file, and the statement that each describes."""

import pytest

from ackdoctor.frontends.java.syntax import comments_of
from tests.effort import grows_linearly

CASES = {
    "at the end of a statement": ("x();\ny(); // c\nz();\n", (2, 2)),
    "alone before a statement": ("x();\n// c\ny();\nz();\n", (3, 3)),
    "alone before a statement of several lines": ("// c\ny(\n    1,\n    2);\nz();\n", (2, 4)),
    "inside a statement of several lines": ("y(\n    1, // c\n    2);\n", (1, 3)),
    "before a statement with a lambda": ("// c\nsend(r, (m, e) -> {\n    a();\n});\nz();\n", (2, 4)),
    "behind a statement with a lambda": ("send(r, (m, e) -> {\n    a();\n}); // c\nz();\n", (1, 3)),
    "inside a lambda": ("send(r, (m, e) -> {\n    a();\n    b(); // c\n});\n", (3, 3)),
    "inside an anonymous class": ("r = new R() {\n  public void run() {\n    x(); // c\n  }\n};\n", (3, 3)),
    "behind an array": ("emit(t, new Values(new String[] {\n    a\n})); // c\nz();\n", (1, 3)),
    "on a header": ("class A {\n  void f(int a,\n      int b) { // c\n    x();\n  }\n}\n", (2, 3)),
    "before annotations": ("class A {\n  // c\n  @Override\n  void f() {\n    x();\n  }\n}\n", (3, 4)),
    "on else": ("if (a) {\n  x();\n} else { // c\n  y();\n}\n", (3, 3)),
    "behind a closing brace": ("if (a) {\n  x();\n} // c\ny();\n", (3, 3)),
    "last in its block": ("void f() {\n  x();\n  // c\n}\ny();\n", (0, 0)),
    "last in its block, before else": ("if (a) {\n  x();\n  // c\n} else if (b) {\n  y();\n}\n", (4, 4)),
    "last in its block, before catch": ("try {\n  x();\n  // c\n} catch (E e) {\n  y();\n}\n", (4, 4)),
    "last in its block, and something else": ("if (a) {\n  x();\n  // c\n} y();\n", (0, 0)),
    "last in a block of a block": ("if (a) {\n  if (b) {\n    // c\n  }\n} else {\n  y();\n}\n", (0, 0)),
    "on a case": ("switch (x) {\n  case 1: // c\n    y();\n}\n", (2, 2)),
    "on an arrow": ("switch (x) {\n  case 1 -> { // c\n    y();\n  }\n}\n", (2, 2)),
    "on a loop": ("for (int i = 0; i < 3; i++) { // c\n  x();\n}\n", (1, 1)),
    "before a block": ("// c\n{\n  x();\n}\n", (2, 2)),
    "before a constant": ("enum E {\n  // c\n  A,\n  B;\n}\n", (3, 3)),
    "after a text block": ('s = """\n // no\n """; // c\n', (1, 3)),
    "after a quote in quotes": ("char q = '\"'; // c\nz();\n", (1, 1)),
    "in a file of Windows": ("x();\r\ny(); // c\r\n", (2, 2)),
    "after the last statement": ("x();\n// c\n", (0, 0)),
}


@pytest.mark.parametrize("case", CASES)
def test_a_comment_describes_its_statement(case):
    text, lines = CASES[case]
    comment = next(comment for comment in comments_of(text.encode())[0] if comment.text == "// c")
    assert (comment.first, comment.last) == lines


def test_a_block_comment_is_read_line_by_line():
    comments, _ = comments_of(b"/* a\n * b\n   c */\nx(\n);\n")
    assert [(c.line, c.column, c.text, c.first, c.last) for c in comments] == [
        (1, 1, "/* a", 4, 5),
        (2, 2, "* b", 4, 5),
        (3, 3, "*c", 4, 5),
    ]


@pytest.mark.parametrize(
    "text", ['x = "// c";\n', "x = '/'; y = '*';\n", 'x = """\n// c\n""";\n', 'x = "\\"// c";\n']
)
def test_a_string_holds_no_comment(text):
    assert comments_of(text.encode())[0] == []


def test_only_the_package_and_imports_may_precede_a_comment_at_the_top():
    text = "// a\npackage x;\n// b\nimport y.Z;\n// c\nclass A {\n  // d\n}\n"
    assert [(comment.text, comment.at_top) for comment in comments_of(text.encode())[0]] == [
        ("// a", True),
        ("// b", True),
        ("// c", True),
        ("// d", False),
    ]


ANNOTATED = {
    "a method": ('@SuppressWarnings("c")\nvoid f() {\n  x();\n}\nvoid g() {}\n', (1, 4)),
    "one of several": ('@SuppressWarnings({"unchecked", "c"})\n@Override\nvoid f() {\n  x();\n}\n', (1, 5)),
    "a class": (
        '@SuppressWarnings(value = "c")\nclass A {\n  void f() {\n    x();\n  }\n}\nclass B {}\n',
        (1, 6),
    ),
    "a local variable": (
        'void f() {\n  @SuppressWarnings("c")\n  int x = g(() -> {\n    h();\n  });\n  y();\n}\n',
        (2, 5),
    ),
    "a parameter": ('void f(@SuppressWarnings("c") Tuple t) {\n  x();\n}\n', (1, 3)),
    "a full name": ('@java.lang.SuppressWarnings("c")\nvoid f() {\n}\n', (1, 3)),
}


@pytest.mark.parametrize("case", ANNOTATED)
def test_an_annotation_describes_its_declaration(case):
    text, lines = ANNOTATED[case]
    _, annotations = comments_of(text.encode())
    found = next(annotation for annotation in annotations if annotation.text == "c")
    assert (found.first, found.last) == lines


def test_other_annotations_are_skipped():
    assert comments_of(b'@Named("c")\nvoid f() {}\n')[1] == []


@pytest.mark.parametrize("line", ["  // c\n", "  void f() { } // c\n", "  int x = 1; /* c */ int y;\n"])
def test_many_comments_are_read_in_linear_time(line):
    def read(count):
        comments, _ = comments_of(b"class A {\n" + line.encode() * count + b"}\n")
        assert len(comments) == count

    assert grows_linearly(read, 500)
