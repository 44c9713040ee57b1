"""Coding cookies: a codec that Python rejects costs one file."""

import subprocess
import sys

import pytest

from ackdoctor.model.source import codec_of, cookie_of
from tests.lint.project import BOLT, JAVA_BOLT, lines, lint_project, unreadable_lines, write

NONE = (
    "idna rot13 rot_13 uu hex bz2 zlib base64 quopri undefined punycode utf-16 utf-16-le utf-32 cp037 cp500 "
    "no-such-thing string_escape . .. -1 __init__ aliases"
).split()
SOME = (
    "utf-8 utf8 utf-8-sig latin-1 iso-8859-15 cp1252 koi8-r euc-jp shift_jis gbk big5 utf-7 unicode_escape "
    "raw_unicode_escape hz mac-roman ascii"
).split()
MARKED = "# ackdoctor: ignore[ACK103] the broker counts per item\n"


@pytest.mark.parametrize("name", NONE)
def test_a_codec_that_python_rejects_costs_one_file(tmp_path, name):
    odd = f"# coding: {name}\n{MARKED}{BOLT}"
    write(tmp_path, {"good.py": BOLT, "odd.py": odd})
    report = lint_project(tmp_path)
    assert lines(report) == ["good.py:9 ACK103"]
    assert unreadable_lines(report) == [f"odd.py:1:1 Python reads no source files in this encoding: {name}"]
    assert not any(fault.internal for fault in report.unreadable)


@pytest.mark.parametrize("name", SOME)
def test_a_codec_that_python_accepts_is_used(tmp_path, name):
    write(tmp_path, {"odd.py": f"# coding: {name}\n{BOLT}"})
    report = lint_project(tmp_path)
    assert (lines(report), unreadable_lines(report)) == (["odd.py:10 ACK103"], [])


@pytest.mark.parametrize(
    "name", ["hex", "bz2", "rot13", "utf-16", "punycode", "undefined", "utf-7", "koi8-r"]
)
def test_python_agrees(tmp_path, name):
    (tmp_path / "file.py").write_text(f"# coding: {name}\nprint('read')\n")
    ran = subprocess.run([sys.executable, tmp_path / "file.py"], capture_output=True, check=False)
    assert (ran.stdout.strip() == b"read") is (codec_of(name) is not None)


@pytest.mark.parametrize("name", ["idna", "rot13", "uu", "hex", "utf-7", "unicode_escape", "no-such-thing"])
def test_java_has_no_cookie(tmp_path, name):
    body = JAVA_BOLT.replace("collector.ack(tuple);\n    }", f"collector.ack(tuple); {MARKED}    }}")
    body = body.replace("# ackdoctor", "// ackdoctor")
    head = f"// coding: {name}\n"
    write(tmp_path, {"A.java": head + body, "B.java": head.encode() + JAVA_BOLT.encode() + b"// caf\xe9\n"})
    report = lint_project(tmp_path)
    assert (lines(report), report.suppressed, unreadable_lines(report)) == (["B.java:21 ACK103"], 1, [])


def test_a_cookie_is_in_one_of_the_first_two_lines():
    assert cookie_of(b"#!/usr/bin/env python\n# vim: set fileencoding=latin-1 :\n") == ("latin-1", 2)
    assert cookie_of(b"\n\n# coding: latin-1\n") is None
    assert cookie_of(b"x = 1\n# coding: latin-1\n") is None
    assert cookie_of(b"\xef\xbb\xbf# coding: utf-8\r\n") == ("utf-8", 1)


def test_text_that_its_codec_rejects_costs_one_file(tmp_path):
    odd = {
        "escape.py": b"# coding: unicode_escape\n" + BOLT.encode() + b"# \\x4\n",
        "seven.py": b"# coding: utf-7\n" + BOLT.encode() + b"# \xff\n",
        "nul.py": BOLT.encode() + b"\0",
    }
    write(tmp_path, {"good.py": BOLT, **odd})
    report = lint_project(tmp_path)
    assert lines(report) == ["good.py:9 ACK103"]
    assert [fault.path for fault in report.unreadable] == sorted(odd)
    assert not any(fault.internal for fault in report.unreadable)
