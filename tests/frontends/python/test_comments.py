"""The comments of a Python file, and the logical line that each describes."""

import io
import tokenize
from importlib import import_module
from pathlib import Path

import pytest

from ackdoctor.frontends.python.source import comments_of, decode

CASES = {
    "at the end of a statement": ("x = 1\ny = 2  # c\nz = 3\n", (2, 2)),
    "alone before a statement": ("x = 1\n# c\ny = 2\nz = 3\n", (3, 3)),
    "alone before a statement of several lines": ("# c\ny = f(\n    1,\n)\n", (2, 4)),
    "inside a statement of several lines": ("y = f(\n    1,  # c\n)\n", (1, 3)),
    "alone inside a statement of several lines": ("y = f(\n    # c\n    1,\n)\n", (1, 4)),
    "at the end of a continued line": ("y = 1 + \\\n    2  # c\n", (1, 2)),
    "before decorators": ("# c\n@a\n@b(\n    1\n)\ndef f(): pass\n", (2, 6)),
    "on a decorator": ("@a  # c\ndef f(): pass\n", (1, 1)),
    "before blank lines": ("# c\n\n\nx = 1\n", (4, 4)),
    "before another comment": ("# c\n# d\nx = 1\n", (3, 3)),
    "after the last statement": ("x = 1\n# c\n", (0, 0)),
    "after a string of several lines": ('x = """\n# no\n"""  # c\n', (1, 3)),
    "after a carriage return": ("x = 1\r# c\ry = 2\r", (3, 3)),
    "in a file of Windows": ("x = 1\r\ny = 2  # c\r\n", (2, 2)),
    "after a Python 2 print": ("print 'a', `x`  # c\n", (1, 1)),
    "after an unclosed quote": ("x = 'a\ny = 2  # c\n", (2, 2)),
}


@pytest.mark.parametrize("case", CASES)
def test_a_comment_describes_its_logical_line(case):
    text, lines = CASES[case]
    comment = next(comment for comment in comments_of(text) if comment.text == "# c")
    assert (comment.first, comment.last) == lines


@pytest.mark.parametrize(
    "text", ["x = '# c'\n", 'x = """\n# c\n"""\n', "x = '\\'# c'\n", "x = r'\\'\\\n# c'\n"]
)
def test_a_string_holds_no_comment(text):
    assert comments_of(text) == []


def test_only_a_docstring_may_precede_a_comment_at_the_top():
    text = '#!/bin/sh\n"""Doc."""\n# a\nimport x  # b\n# c\n'
    assert [(comment.text, comment.at_top) for comment in comments_of(text)] == [
        ("#!/bin/sh", True),
        ("# a", True),
        ("# b", False),
        ("# c", False),
    ]


@pytest.mark.parametrize("module", ["argparse", "ast", "inspect", "tokenize", "typing", "textwrap", "re"])
def test_the_standard_tokenizer_finds_the_same_comments(module):
    content = Path(str(import_module(module).__file__)).read_bytes()
    tokens = tokenize.tokenize(io.BytesIO(content).readline)
    expected = [(*token.start, token.string) for token in tokens if token.type == tokenize.COMMENT]
    text = decode("", content)
    assert isinstance(text, str)
    found = comments_of(text)
    assert [(comment.line, comment.column - 1, comment.text) for comment in found] == expected
