"""Measured positions compared with those of libcst's provider, node by node."""

import textwrap

import libcst as cst
import pytest
from libcst.metadata import MetadataWrapper, PositionProvider

from ackdoctor.frontends import UnknownSyntax
from ackdoctor.frontends.python import lower_source
from ackdoctor.frontends.python.positions import Positions
from ackdoctor.model.finding import Unreadable
from tests.frontends.python.test_golden import SOURCES

RARE = """\
#!/usr/bin/python
# a header


from __future__ import (annotations, # why
    division,)
from ... import  a  as  c ; import d . e  as f , g
@ decorated . by (1)
# between
class  A [T : int = str, *Ts, **P] ( B , * C, metaclass = D ) :

    '''doc'''
    x : int ; y : 'str' = 1

    async  def  f ( self , a , / , b : int=1 , *  args : x , c , ** kw ) -> dict [ str , int ] :  # tail
        async  with  a as b , c :
            await  d
        async for i , j in  k : pass
        else : pass
        return
    def g(self, *, a): raise
    # footer of the block
type  Alias [T] = list [ T ]
def h () : yield ; (yield from a) ; yield  b
lambda : 0
lambda  a , * , b=1 , ** c : a
with ( open(a) as b, c, ) : pass
while  ( a ) :
\tpass
else : pass
try : pass
except  * ( A , B ) as  e : raise  f  from  g
else : pass
finally : del  a , ( b )
if a : pass
elif  ( b ) : x
else :
  y
match  a , b :  # subject
  # leading
  case  { 'k' : v , ** rest , } | A . b ( 1 , c = [ * _ , x ] ) if  y : pass
  case  ( [ a , b ] ) | ( c , ) : pass
  case  * d , e : pass
  case None | - 1 | 1 + 2j | ( d ) : pass
  case ( e | "f" ) as  z : pass
  # footer

assert  a , b
global  c , d
nonlocal e
print ( * a , ** b , c = d , )
x = y = ( ( a , ) ) , * b ,
a @= b ; c //= d ; e >>= 1
x [ a : b : c , :: , ... , * d ]
x = { ** a , b : c , } , { * a , b } , [ ] , { } , ( )
x = [ a for  b in  ( c ) if  d if not e for f in g ] , { a : b  for c in d } , { a async  for a in b }
x = f ( a for a in b )
x = not  a , - b , ~ c , + d , a if  b else  c , ( a  :=  b )
x = a < b <= c != d is  not e not  in f is g in h >= i > j == k
x = a or b and c | d ^ e & f << g >> h + i - j * k / l // m % n @ o ** p
x = 'a' \"b\" f'''{ a !r:>{ b }} { c = } {{}}''' ; rb'c' 1_000 1.5e3 2j if 0 else 0
""".replace(" 1_000 1.5e3 2j if 0 else 0", "; 1_000 ; 1.5e3 ; 2j ; 0xFF")


OURS = (cst.CompFor, cst.LeftParen, cst.RightParen)  # without their white space, and a `for` without its `if`


def differences(source):
    wrapper = MetadataWrapper(cst.parse_module(source), unsafe_skip_copy=True)
    theirs = wrapper.resolve(PositionProvider)
    ours = Positions(wrapper.module, source)
    found = []
    for node, place in theirs.items():
        if id(node) in ours._extents and not isinstance(node, OURS):
            expected = (place.start.line, place.start.column + 1, place.end.line, place.end.column + 1)
            if ours.span(node) != expected:
                found.append((type(node).__name__, ours.span(node), expected))
    return found


@pytest.mark.parametrize("name", sorted(SOURCES))
def test_positions_agree_with_libcst_in(name):
    assert differences(textwrap.dedent(SOURCES[name])) == []


def test_positions_agree_with_libcst_in_rare_syntax():
    assert differences(RARE) == []


@pytest.mark.parametrize("name", ["Expression", "Statement", "Suite", "SmallStatement"])
def test_every_node_type_can_be_measured(name):
    from ackdoctor.frontends.python.positions import _programs

    base = getattr(cst, f"Base{name}")
    kinds = {kind for kind in vars(cst).values() if isinstance(kind, type) and issubclass(kind, base)}
    concrete = {
        kind
        for kind in kinds
        if not getattr(kind, "__abstractmethods__", None) and "Base" not in kind.__name__
    }
    assert sorted(kind.__name__ for kind in concrete - set(_programs())) == []


def test_a_form_feed_in_an_indentation_is_not_reported_as_a_syntax_error():
    assert lower_source(
        path="a.py", module="a", is_package=False, data=b"class A:\n\f    def f(self):\n        pass\n"
    ) == Unreadable(
        path="a.py", line=0, column=0, reason="Python accepts this file, but ackdoctor's parser does not"
    )


def test_unsupported_syntax_is_reported(monkeypatch):
    from ackdoctor.frontends.python.expressions import TABLES

    monkeypatch.delitem(TABLES.statements, cst.While)
    with pytest.raises(UnknownSyntax):
        TABLES.statements[cst.While]
    assert lower_source(path="a.py", module="a", is_package=False, data=b"while a: pass\n") == Unreadable(
        path="a.py", line=0, column=0, reason="syntax that is not yet supported: While"
    )
