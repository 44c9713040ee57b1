"""The classes and imports that the bytes of a file declare."""

import pytest

from ackdoctor.lint.files import Declarations, capital_names, java_declarations, python_declarations


def test_a_python_file_declares_classes_and_imports():
    source = b"from .base import Bolt as B\nimport storm, a.b as c\nfrom x import *\nY = storm.Bolt\nclass C(B, storm.X):\n"
    assert python_declarations(source) == Declarations(
        classes=(("C", ("B", "storm.X")),),
        imports=(("B", ".base.Bolt"), ("storm", "storm"), ("c", "a.b")),
        aliases=(("Y", "storm.Bolt"),),
        stars=("x",),
        modules=("storm", "a.b"),
    )


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_python_lines_may_have_any_end(end):
    source = b"import os\nfrom storm import Bolt\nclass A(Bolt):\n    pass\n".replace(b"\n", end)
    assert python_declarations(source).classes == (("A", ("Bolt",)),)
    assert python_declarations(source).imports == (("os", "os"), ("Bolt", "storm.Bolt"))


@pytest.mark.parametrize(
    "first", ["from streamparse import Bolt\n", "import streamparse\n", "import base as b\n"]
)
def test_a_byte_order_mark_before_the_first_import_changes_nothing(first):
    source = first.encode() + b"class B(b.Base):\n    pass\n"
    assert python_declarations(b"\xef\xbb\xbf" + source) == python_declarations(source)


def test_python_prose_and_strings_declare_no_classes():
    source = b'"""A class of (many) things."""\nx = "class A(Bolt)"\n# class C(Bolt):\nsubclass = f(x)\n'
    assert python_declarations(source) == Declarations()


def test_a_java_file_declares_its_package_classes_and_imports():
    source = (
        b"/* class of things */ package a.b;\nimport c.Base; import d.*;\n// import e.Gone;\n"
        b"import static f.G.h;\nclass C<T extends X> extends Base<T> implements I { Other o = new Base() { }; }\n"
        b"interface J {}\n"
    )
    found = java_declarations(source)
    assert found == Declarations(
        classes=(("C", ("Base", "I")), ("$", ("Base",))),
        imports=(("Base", "c.Base"), ("h", "f.G.h")),
        stars=("a.b", "d"),
        package="a.b",
    )
    assert capital_names(source, found) == {"G", "Gone", "I", "Other", "T", "X"}


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_java_lines_may_have_any_end_and_a_byte_order_mark_before_them(end):
    source = b"\xef\xbb\xbfpackage a;\nimport b.C;\nclass D extends C {\n}\n".replace(b"\n", end)
    found = java_declarations(source)
    assert (found.package, found.imports, found.classes) == ("a", (("C", "b.C"),), (("D", ("C",)),))


def test_java_prose_declares_no_classes():
    found = java_declarations(b'/** The class Foo of things. */\nString s = "A class extends B";\n')
    assert found.classes == ()
