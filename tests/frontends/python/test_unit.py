"""The contents of a unit besides its graphs."""

import pytest

from ackdoctor.model.cfg import Build, Closure, Global, Literal, Mix, Name, Param
from tests.frontends.python.lowered import only_function, unit
from tests.frontends.steps_and_spans import steps


def test_an_import_in_a_try_leaves_both_candidates_in_order():
    lowered = unit("""
        try:
            from streamparse import Bolt
        except ImportError:
            from pystorm.bolt import Bolt
        """)
    assert lowered.imports == {"Bolt": ("streamparse.Bolt", "pystorm.bolt.Bolt")}


def test_a_dotted_import_binds_its_first_part_and_an_alias_the_whole():
    lowered = unit("import a.b, c.d as e")
    assert lowered.imports == {"a": ("a",), "e": ("c.d",)}


def test_imports_inside_functions_and_classes_count():
    lowered = unit("""
        def f():
            import json
        class A:
            from base import mixin
            def m(self):
                from .near import thing
        """)
    assert lowered.imports == {"json": ("json",), "mixin": ("base.mixin",), "thing": ("app.near.thing",)}


@pytest.mark.parametrize(
    ("statement", "module", "is_package", "expected"),
    [
        ("from . import x", "app.bolts", False, "app.x"),
        ("from .y import x", "app.bolts", False, "app.y.x"),
        ("from ..y import x", "app.sub.bolts", False, "app.y.x"),
        ("from .y import x", "app.bolts", True, "app.bolts.y.x"),
        ("from .. import x", "app.bolts", True, "app.x"),
        ("from ....y import x", "app", False, "y.x"),
        ("from y import x", "app.bolts", False, "y.x"),
    ],
)
def test_a_relative_import_is_made_absolute(statement, module, is_package, expected):
    assert unit(statement, module=module, is_package=is_package).imports == {"x": (expected,)}


def test_star_imports_are_listed_in_order():
    lowered = unit("from storm import *\nfrom .base import *\nfrom storm import *")
    assert lowered.stars == ("storm", "app.base")


def test_a_name_imported_in_a_function_stays_global():
    assert steps(only_function("def f():\n    import storm\n    storm.ack(1)")) == [
        "Jump import",
        "Call %1 = @storm.ack(1)",
    ]


def test_a_name_that_is_imported_and_assigned_is_a_local_bound_to_the_import():
    source = "def f():\n    try:\n        import a\n    except ImportError:\n        a = None\n    return a"
    assert steps(only_function(source)) == [
        "Jump import",
        "Bind a = @a",
        "Catch ImportError",
        "Bind a = None",
        "Return a",
    ]


def test_class_attributes_are_pure_expressions():
    info = unit("""
        class CountBolt(Bolt, metaclass=Meta):
            auto_ack = False
            outputs: list = ["a", "b"]
            bare: int
            options = dict(par=2, *rest)
            fallback = a or b
            key = lambda t: t.id
            ack = Bolt.ack
            if PY2:
                flag = x = 1
                def process(self, tup): pass
            else:
                def process(self, tup): return 1
        """).classes["CountBolt"]
    assert info.bases == (Global("Bolt"),)
    assert info.attrs["auto_ack"] == Literal(value=False)
    assert info.attrs["outputs"] == Build("list", (Literal("a"), Literal("b")))
    assert "bare" not in info.attrs
    assert info.attrs["flag"] == info.attrs["x"] == Literal(1)
    assert info.attrs["key"] == Closure("<lambda>")
    assert list(info.methods) == ["process"]
    assert info.methods["process"].qualname == "CountBolt.process#2"


def test_a_call_in_a_class_attribute_is_a_mix_of_callee_and_arguments():
    info = unit("class A:\n    x = dict(a, *b, par=2, **c)").classes["A"]
    assert str(info.attrs["x"].parts[0]) == str(Global("dict"))
    assert [getattr(part, "op", type(part).__name__) for part in info.attrs["x"].parts] == [
        "Global",
        "Global",
        "Star",
        "par=",
        "**",
    ]


def test_lists_and_dicts_know_the_lines_of_their_items():
    lowered = unit("""
        x = {
          "a": 1, **more,
          "b":
            [2,
             3],
        }
        """)
    value = lowered.values["x"]
    assert isinstance(value, Build)
    assert value.lines == (3, 3, 3, 3, 4, 5)
    inner = value.items[-1]
    assert isinstance(inner, Build)
    assert inner.lines == (5, 6)
    assert inner == Build("list", (Literal(2), Literal(3)))


@pytest.mark.parametrize(
    ("body", "straight"),
    [
        ("'text'; x = 1; a, b = 1, 2; y: int = 3; x += 1; pass", True),
        ("from m import n", True),
        ("def f(self): self.go()", True),
        ("conf = {}; conf['x'] = 1", False),
        ("conf = {}; conf.update(x=1)", False),
        ("if flag: x = 1", False),
        ("for i in (1, 2): x = i", False),
    ],
)
def test_a_straight_class_body_only_defines(body, straight):
    assert unit(f"class A:\n    {body}").classes["A"].straight is straight


def test_module_values_keep_the_last_assignment():
    lowered = unit("A = 1\nA = f(2)\nif x:\n    B: int = 3\nc.d = 4\ne, g = f(5)")
    assert lowered.values == {"A": Mix("call", (Global("f"), Literal(2))), "B": Literal(3)}


def test_an_unpacking_assignment_binds_each_name_to_its_value():
    lowered = unit("A, (b, c), d.e = 5, 6, 7\nclass A:\n    ack, fail = False, True")
    assert lowered.values == {"A": Literal(5)}
    assert lowered.classes["A"].attrs == {"ack": Literal(value=False), "fail": Literal(value=True)}


def test_classes_in_blocks_are_found():
    lowered = unit("""
        if a:
            class A: pass
        else:
            class A: pass
        class Outer:
            class Inner: pass
        def f():
            class Local:
                def m(self):
                    class Deep: pass
        """)
    assert list(lowered.classes) == [
        "A",
        "A#2",
        "Outer",
        "Outer.Inner",
        "f.<locals>.Local",
        "f.<locals>.Local.m.<locals>.Deep",
    ]


def test_parameters_have_kinds_defaults_and_annotations():
    function = only_function("def f(a, /, b: 'List[int]' = 1, *c, d, e=g(), **h): pass")
    assert function.params == (
        Param("a"),
        Param("b", default=Literal(1), type="'List[int]'"),
        Param("c", "*"),
        Param("d", "keyword"),
        Param("e", "keyword", Mix("call", (Global("g"),))),
        Param("h", "**"),
    )


def test_a_bare_star_is_no_parameter():
    assert [param.name for param in only_function("def f(a, *, b): pass").params] == ["a", "b"]


def test_the_binding_of_methods():
    methods = unit("""
        class A:
            def a(self): pass
            @staticmethod
            def b(): pass
            @other
            @classmethod
            def c(cls): pass
        def d(): pass
        """)
    assert {name: m.binding for name, m in methods.classes["A"].methods.items()} == {
        "a": "instance",
        "b": "static",
        "c": "class",
    }
    assert methods.functions["d"].binding == "none"


def test_decorators_are_pure_expressions():
    function = only_function("@a.b\n@c(1)\ndef f(): pass")
    assert [str(type(each).__name__) for each in function.decorators] == ["Attr", "Mix"]


@pytest.mark.parametrize(
    "body",
    [
        "pass",
        "...",
        "'''doc'''",
        "'''doc'''\n    pass",
        "raise NotImplementedError",
        "raise NotImplementedError('x')",
    ],
)
def test_a_stub(body):
    assert only_function(f"def f():\n    {body}\n").docstring_only


@pytest.mark.parametrize("body", ["return", "raise ValueError", "x = 1", "f()", "if a: pass"])
def test_a_body_with_code_is_not_a_stub(body):
    assert not only_function(f"def f():\n    {body}\n").docstring_only


def test_a_pure_builtin_is_not_a_call():
    source = "def f(a): return len(a), bool(a), type(a), id(a), isinstance(a, (A, B)), isinstance(a, C)"
    assert steps(only_function(source)) == [
        "Return ({len a}, {bool a}, {type a}, {id a}, (a is a @A or @B), (a is a @C))"
    ]


def test_a_rebound_builtin_is_a_call():
    function = unit("from mine import len\ndef f(a, id): return len(a), id(a)").functions["f"]
    assert steps(function) == ["Call %1 = @len(a)", "Call %2 = id(a)", "Return (%1, %2)"]


def test_a_parameter_is_a_name_and_so_is_a_capture():
    function = only_function("def f(self):\n    def g():\n        return self.x, y\n    return g")
    (inner,) = function.closures.values()
    assert inner.captures == {"self"}
    assert steps(inner) == ["Return (self.x, @y)"]
    assert function.cfg.steps[-1].op.value == Name("g")


def test_the_receiver_is_the_first_parameter_of_a_method():
    methods = unit(
        "class A:\n"
        "    def f(me, tup):\n"
        "        def g():\n            return me.x\n"
        "        def h(me):\n            return me.x\n"
        "        return g, h\n"
        "    @staticmethod\n    def s(tup): pass\n"
    )
    function, static = methods.classes["A"].methods["f"], methods.classes["A"].methods["s"]
    assert (function.receiver, static.receiver) == ("me", "")
    assert [inner.receiver for inner in function.closures.values()] == ["me", ""]


def test_the_receiver_of_a_decorators_inner_function_is_self():
    function = only_function(
        "def retry(f):\n    def inner(self, tup):\n        f(self, tup)\n    return inner"
    )
    (inner,) = function.closures.values()
    assert (function.receiver, inner.receiver) == ("", "self")
