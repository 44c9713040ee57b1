"""Sources of an extreme shape: lint ends, has no internal error, and names what it does not judge."""

import pytest

from tests.effort import grows_linearly
from tests.lint.project import BOLT, lint_project, unreadable_lines, write

PYTHON = "import storm\n\n\nclass B(storm.Bolt):\n    def process(self, tup):\n"
JAVA = """\
import org.apache.storm.task.OutputCollector;
import org.apache.storm.topology.base.BaseRichBolt;
import org.apache.storm.tuple.Tuple;

class B extends BaseRichBolt {
    OutputCollector collector;
    public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector out) { collector = out; }
"""


def java(body, more=""):
    return f"{JAVA}    public void execute(Tuple t) {{ {body} collector.ack(t); }}\n{more}}}\n"


def heirs(count):
    classes = (f"class C{n}(C{n - 1}):\n    pass\n" for n in range(1, count))
    return PYTHON.replace("class B", "class C0") + "        storm.ack(tup)\n" + "".join(classes)


def java_heirs(count):
    """The last subclass comes first: lint follows the chain from its end."""
    return java("") + "".join(
        f"class C{n} extends {f'C{n - 1}' if n else 'B'} {{ }}\n" for n in reversed(range(count))
    )


def elifs(count):
    rest = (f"        elif k == {n}:\n            y = {n}\n" for n in range(1, count))
    head = "        k = tup.values[0]\n        if k == 0:\n            y = 0\n"
    return PYTHON + head + "".join(rest) + "        storm.ack(tup)\n"


def else_ifs(count):
    return java("int y = 0; " + " else ".join(f"if (k == {n}) {{ y = {n}; }}" for n in range(count)))


def methods(count):
    ring = (f"    void m{n}(Tuple t) {{ m{(n + 1) % count}(t); }}\n" for n in range(count))
    return java("m0(t);", "".join(ring))


def helpers(levels):
    called = (f"    void h{n}(Tuple t) {{ {f'h{n + 1}(t); ' * 8}}}\n" for n in range(levels))
    return java("h0(t);", "".join(called) + f"    void h{levels}(Tuple t) {{ log.info(t.getValues()); }}\n")


def calls(count):
    return java("Object x = a" + ".b()" * count + ";")


def lambdas(count):
    return java("Object x = " + "() -> " * count + "1;")


SHAPES = {  # source, file, size for the normal suite, full size
    "heirs": (heirs, "bolt.py", 600, 3_000),
    "java heirs": (java_heirs, "B.java", 600, 3_000),
    "elifs": (elifs, "bolt.py", 300, 3_000),
    "else ifs": (else_ifs, "B.java", 300, 3_000),
    "methods": (methods, "B.java", 400, 3_000),
    "helpers": (helpers, "B.java", 12, 40),
    "calls": (calls, "B.java", 6_000, 20_000),
    "lambdas": (lambdas, "B.java", 1_000, 3_000),
}
NOT_JUDGED = {
    "heirs": "more than 100 base classes; `C101` and {more} more classes are not judged",
    "java heirs": "more than 100 base classes; `C{last}` and {more} more classes are not judged",
    "methods": "calls nested too deeply; `B` is not judged",
    "helpers": "calls nested too deeply; `B` is not judged",
    "calls": "nested too deeply; `execute` is not read",
    "lambdas": "nested too deeply; `<lambda>` is not read",
}


def check(tmp_path, shape, count):
    write_source, name, _, _ = SHAPES[shape]
    write(tmp_path, {name: write_source(count)})
    report = lint_project(tmp_path)
    crashes = [each for each in report.unreadable if each.internal and "nested too deeply" not in each.reason]
    assert crashes == []
    more = count - 102 if shape == "heirs" else count - 101
    expected = NOT_JUDGED.get(shape, "").format(more=more, last=count - 1)
    assert bool(unreadable_lines(report)) == bool(expected)
    assert not expected or any(line.endswith(expected) for line in unreadable_lines(report))


@pytest.mark.parametrize("shape", SHAPES)
def test_an_extreme_shape_is_linted(tmp_path, shape):
    check(tmp_path, shape, SHAPES[shape][2])


@pytest.mark.minutes
@pytest.mark.parametrize("shape", SHAPES)
def test_an_extreme_shape_of_full_size_is_linted(tmp_path, shape):
    check(tmp_path, shape, SHAPES[shape][3])


def test_a_hundred_base_classes_are_judged(tmp_path):
    write(tmp_path, {"bolt.py": heirs(101)})
    assert unreadable_lines(lint_project(tmp_path)) == []


# ---- the regular expressions that read a file before its parser does ----

TEXTS = [
    "_ack",
    ".emit_",
    "coding",
    "coding: ",
    "ackdoctor: ignore",
    "ackdoctor: ignore[ACK101,",
    "class ",
    "class A(",
    "import ",
    "from . ",
    "package a.",
    "new A.",
    "@A(",
    "A<",
    "/*",
    "\\",
    " ",
    "\t ",
]


@pytest.mark.parametrize("text", TEXTS)
def test_a_long_comment_takes_linear_time(tmp_path, text):
    def lint(length):
        comment = text * (length // len(text))
        write(tmp_path, {"bolt.py": f"# {comment}\n{BOLT}", "B.java": f"// {comment}\n{java('')}"})
        lint_project(tmp_path)

    lint(1)  # imports
    assert grows_linearly(lint, 20_000)
