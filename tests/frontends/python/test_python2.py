"""Python 2 sources, translated by recorded edits."""

import pytest

from ackdoctor.frontends.python.source import translate
from ackdoctor.model.finding import Unreadable
from tests.flow.cfg_dump import show_instr
from tests.frontends.python.lowered import all_functions, lower, picture, unit
from tests.frontends.steps_and_spans import text_of

BOLT = """\
# a bolt as people wrote them
import storm

class SplitBolt(storm.BasicBolt):
    def process(self, tup):
        try:
            print >>sys.stderr, "got", tup.id
            words = tup.values[0].split(u" ")
        except (KeyError, ValueError), e:
            print "bad", e
            raise storm.StormError, "bad tuple"
        for word in words:
            if word <> "":
                storm.emit([word, `len(word)`, 0777, 10L])
        print
        exec "x = 1" in self.scope

SplitBolt().run()
"""


def test_a_python_2_bolt_is_lowered_at_its_own_lines(golden):
    lowered = unit(BOLT)
    assert lowered.python2
    golden("cfg-python2", picture(lowered))


@pytest.mark.parametrize(
    "text",
    [
        "print('x')",
        "from __future__ import print_function",
        "for key, value in six.iteritems(counts): pass",
        "from urllib.parse import urlparse",
        "# xrange, unicode and iteritems are gone",
        "text = self.unicode(word)",
        "import queue as Queue",
        "try: f()\nexcept KeyError, socket.error: pass",
    ],
)
def test_python_3_is_not_taken_for_python_2(text):
    assert not unit(text).python2


@pytest.mark.parametrize(
    "text",
    [
        "#!/usr/bin/env python2.7\nimport storm",
        "import urllib2",
        "try: f()\nexcept KeyError, e: pass",
        "try:\n    from Queue import Queue\nexcept ImportError:\n    from queue import Queue",
        "for i in xrange(10): pass",
        "isinstance(word, basestring)",
        "for key, value in counts.iteritems(): pass",
    ],
)
def test_names_of_python_2_identify_a_file_that_parses_as_both(text):
    assert unit(text).python2


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("print x", "print( x)"),
        ("print", "print()"),
        ("print x, y,", "print( x, y,)"),
        ("print (a), b", "print( (a), b)"),
        ("print (a) % b # c", "print( (a) % b) # c"),
        ("print >>f", "print (file=f)"),
        ("print >>f, a, b", "print (file=f,*[ a, b])"),
        ("if a: print b; print c", "if a: print( b); print( c)"),
        ("else: print b", "else: print( b)"),
        ("print lambda: a", "print( lambda: a)"),
        ("print {1: 2}[1]", "print( {1: 2}[1])"),
        ("print a, \\\n  b\n", "print( a, \\\n  b)\n"),
        ("exec a", "exec( a)"),
        ("exec a in b, c", "exec( a , b, c)"),
        ("raise E, 'm'", "raise E( 'm')"),
        ("raise E, 'm', tb", "raise E( 'm').with_traceback( tb)"),
        ("except E, e:", "except E as  e:"),
        ("except (E, F), e :", "except (E, F) as  e :"),
        ("except E, (code, text):", "except E as code:"),
        ("except E, self.error:", "except E as self:"),
        ("except E as (code, text):", "except E as code:"),
        ("a <> b", "a != b"),
        ("`a` + `b`", "repr(a) + repr(b)"),
        ("0777 + 0 + 00 + 10L + 0xFFl", "0o777 + 0 + 00 + 10 + 0xFF"),
        ("ur'a' + UR\"b\" + u'c'", "r'a' + R\"b\" + u'c'"),
        ("def f(a, (b, (c, d)), e=(1, 2)):", "def f(a,  b,  c, d  , e=(1, 2)):"),
        ("lambda (k, v): v", "lambda  k, v : v"),
        ("sorted(a, key=lambda(k,v): v)", "sorted(a, key=lambda k,v : v)"),
        ("f(async=True)", "f(async_=True)"),
        ("self.async = await", "self.async_ = await_"),
        ("if a:\n\tb <> c", "if a:\n        b != c"),
    ],
)
def test_the_translation_of(old, new):
    assert translate(old).text == new


@pytest.mark.parametrize(
    "same",
    [
        "print(a)",
        "print(a, b); print (c)",
        "exec(a)",
        "except E as e:",
        "raise E('m')",
        "from __future__ import print_function",
        "# print x",
        "'''\nprint x\n'''",
        "x.print",
        "async def f(): await g()",
        "u'a'",
    ],
)
def test_no_translation_of(same):
    assert translate(same) is None


def test_print_is_a_function_after_the_future_import():
    old = "from __future__ import print_function\nprint (a) <> b"
    assert translate(old).text == "from __future__ import print_function\nprint (a) != b"


def test_columns_map_back_to_the_original_text():
    source = "def f(e):\n    print 'ä', g(e) ; h( `e`, 10L, x(1) )\n    raise E, k(e)\n"
    (function,) = (each for each in all_functions(unit(source)) if each.name == "f")
    written = {
        show_instr(step.op).split(" = ")[0]: text_of(source, step.span) for step in function.cfg.steps[3:]
    }
    assert written == {
        "Call %1": "g(e)",
        "Call %2": "print 'ä', g(e)",
        "Call %3": "`e`",
        "Call %4": "x(1)",
        "Call %5": "h( `e`, 10L, x(1) )",
        "Call %6": "k(e)",
        "Call %7": "E, k(e)",
        "Throw %7": "raise E, k(e)",
    }


def test_tabs_and_spaces_are_mixed_as_in_python_2():
    source = "def f():\n        a <> b\n\tg()\n"
    (function,) = unit(source.encode()).functions.values()
    assert [step.span for step in function.cfg.steps[3:]] == [(2, 9, 2, 15), (3, 2, 3, 5)]


def test_text_of_neither_version_is_reported_as_python_3():
    assert lower("print 'a'\ndef f(:\n") == Unreadable(
        path="app/bolts.py",
        line=1,
        column=1,
        reason="syntax error: Missing parentheses in call to 'print'. Did you mean print(...)?",
    )
