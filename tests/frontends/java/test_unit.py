"""The contents of a unit besides its graphs."""

import pytest

from ackdoctor.model.cfg import Attr, Global, Literal, Param
from tests.frontends.java.lowered import body, unit
from tests.frontends.steps_and_spans import steps


def test_the_module_is_the_package_and_its_other_files_are_visible():
    lowered = unit("package com.acme.bolts;\nimport java.util.*;\nimport static a.B.*;\nclass A {}")
    assert lowered.module == "com.acme.bolts"
    assert lowered.stars == ("com.acme.bolts", "java.util", "a.B")


def test_without_a_package_the_other_files_without_one_are_visible():
    lowered = unit("import java.util.*;\nclass A {}")
    assert (lowered.module, lowered.stars) == ("", ("", "java.util"))


def test_imports_bind_their_last_word():
    lowered = unit("import java.util.Map;\nimport java.util.Map.Entry;\nimport static a.B.check;\nclass A {}")
    assert lowered.imports == {
        "Map": ("java.util.Map",),
        "Entry": ("java.util.Map.Entry",),
        "check": ("a.B.check",),
    }


def test_the_qualified_name_of_a_class_contains_its_place():
    lowered = unit(
        """
        class Outer {
            interface Inner { enum Deep {} }
            void m() {
                class Local {}
                use(new Base() { void a() { use(new Base() { void b() {} }); } }, new Base() { void c() {} });
            }
            void n() { class Local {} }
        }
        record Top() {}
        """
    )
    assert list(lowered.classes) == [
        "Outer",
        "Outer.Inner",
        "Outer.Inner.Deep",
        "Outer.Local",
        "Outer.$1",
        "Outer.$1.$1",
        "Outer.$2",
        "Outer.Local#2",
        "Top",
    ]


@pytest.mark.parametrize("base", ["Runnable", "Callable<Tuple>", "Thread"])
def test_an_anonymous_class_of_the_jdk_is_no_component(base):
    lowered = unit(f"class A {{ Object m() {{ return new {base}() {{ public void run() {{}} }}; }} }}")
    assert list(lowered.classes) == ["A"]


def test_type_arguments_and_brackets_are_dropped_from_types():
    info = unit(
        """
        class A extends Base<List<Tuple>> implements B, x.C<int[]> {
            Map<String, Tuple> pending;
            Map.Entry<K, V>[] entries, more[];
            long n;
            <T> void m(final List<T> a, int[]... b) throws E {
                java.util.List<T> c = f();
                for (Map.Entry<K, V> e : c) {}
                try (Reader r = g()) {} catch (x.E | F x) {} catch (G g) {}
                var made = new Foo<>();
                var found = f();
            }
        }
        """
    ).classes["A"]
    assert info.bases == (Global("Base"), Global("B"), Attr(Global("x"), "C"))
    assert info.types == {"pending": "Map", "entries": "Map.Entry", "more": "Map.Entry", "n": "long"}
    method = info.methods["m"]
    assert method.params == (
        Param("this"),
        Param("a", "positional", None, "List"),
        Param("b", "*", None, "int"),
    )
    assert method.types == {
        "a": "List",
        "b": "int",
        "c": "java.util.List",
        "e": "Map.Entry",
        "r": "Reader",
        "g": "G",
        "made": "Foo",
    }


def test_locals_of_one_name_and_different_types_are_distinct():
    method = body("{ int i = 1; } { long i = 2; } { int i = 3; } try {} catch (A e) {} catch (B e) {}")
    assert steps(method)[:3] == ["Bind i = 1", "Bind i#2 = 2", "Bind i = 3"]
    assert method.types == {"tuple": "Tuple", "i": "int", "i#2": "long"}


def test_overloads_are_kept_in_order():
    info = unit("class A { A() {} A(int a) {} void m() {} int m(int a) { return a; } void n() {} }").classes[
        "A"
    ]
    assert {name: [each.qualname for each in several] for name, several in info.overloads.items()} == {
        "<init>": ["A.<init>", "A.<init>#2"],
        "m": ["A.m", "A.m#2"],
    }
    assert info.methods["m"] is info.named("m")[0]


def test_only_a_method_without_a_body_is_a_stub():
    info = unit(
        "abstract class A { abstract void a(); native void b(); void c() {} static void d() { throw x; } }"
    ).classes["A"]
    assert {name: (each.docstring_only, each.binding) for name, each in info.methods.items()} == {
        "a": (True, "instance"),
        "b": (True, "instance"),
        "c": (False, "instance"),
        "d": (False, "static"),
    }


def test_a_field_without_code_needs_no_initialiser():
    info = unit("class A { int a; static int b = 1; static { } }").classes["A"]
    assert list(info.methods) == ["<clinit>"]
    assert info.attrs == {"b": Literal(1)}


def test_a_constructor_runs_the_initialisers_unless_it_calls_another():
    info = unit(
        "class A { int a = f(); A() { this(1); } A(int a) { g(a); } A(long a) { super(a); } }"
    ).classes["A"]
    assert [steps(each) for each in info.named("<init>")] == [
        ["Call %1 = this.<init>(1)"],
        ["Call %1 = this.f()", "Bind this.a = %1", "Call %2 = this.g(a)"],
        ["Call %1 = this.f()", "Bind this.a = %1", "Call %2 = @super()", "Call %3 = %2.<init>(a)"],
    ]


def test_many_initialisers_run_only_in_the_first_constructors():
    fields = "".join(f"int f{number} = g();" for number in range(900))
    constructors = "".join(f"A(int a{number}) {{}}" for number in range(5))
    info = unit(f"class A {{ {fields} {constructors} }}").classes["A"]
    assert [len(steps(each)) for each in info.named("<init>")] == [1800, 1800, 0, 0, 0]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("tuple", "tuple"),
        ("field", "this.field"),
        ("FIELD", "this.FIELD"),
        ("Type", "@Type"),
        ("Type.FIELD", "@Type.FIELD"),
        ("ENUM.VALUE", "@ENUM.VALUE"),
        ("field.other", "this.field.other"),
        ("a.b.Type.FIELD", "@a.b.Type.FIELD"),
        ("this.field", "this.field"),
        ("A.this.field", "this.field"),
        ("(field)", "this.field"),
        ("(Type) tuple", "tuple"),
        ("Type.class", "@Type.class"),
        ("UUID.x", "@UUID.x"),
        ("Type::make", "@Type.make"),
        ("this::done", "this.done"),
        ("Type[]::new", "{new}"),
        ("tuple == null", "(tuple is None)"),
        ("null != tuple", "(tuple is not None)"),
        ("tuple.equals(field)", "(tuple == this.field)"),
        ("!Objects.equals(tuple, 1)", "not (tuple == 1)"),
        ("tuple instanceof Type", "(tuple is a @Type)"),
        ("new Type[] {tuple}", "[tuple]"),
        ("new int[2][3]", "[]"),
        ('"a" + "b"', "'ab'"),
        ('tuple + "b" + 1', "{+ tuple 'b' 1}"),
    ],
)
def test_the_value_of(written, expected):
    assert steps(body(f"x = {written};"))[-1] == f"Bind this.x = {expected}"


def test_the_outer_object_is_captured_and_an_anonymous_class_is_named_by_number():
    method = body("run(new Job() { int n; void go() { n = this.n; x = tuple; run(this); } });")
    (closure,) = method.closures.values()
    assert steps(method) == [f"Bind $1 = object(<{closure.qualname}>)", "Call %1 = this.run($1)"]
    assert closure.captures == {"$1", "this", "tuple"}
    assert closure.params == ()
    assert steps(closure) == ["Bind $1.n = $1.n", "Bind this.x = tuple", "Call %1 = this.run($1)"]


def test_a_file_of_comments_is_empty():
    lowered = unit("// package info\n@NonNull package a.b;")
    assert (lowered.module, lowered.classes, len(lowered.body.cfg.steps)) == ("a.b", {}, 3)


def test_the_receiver_is_this_where_the_code_can_use_it():
    info = unit("class A { int x; void f() { run(() -> x); run(() -> 1); } static void s() { } }").classes[
        "A"
    ]
    function = info.methods["f"]
    assert (function.receiver, info.methods["s"].receiver) == ("this", "")
    assert [inner.receiver for inner in function.closures.values()] == ["this", ""]
