"""Which script a shell component runs."""

import pytest

from ackdoctor.dialects import load
from ackdoctor.flow.program import Program
from ackdoctor.frontends.java import lower_source
from ackdoctor.model.topology import Gap, Place
from ackdoctor.topology.shell import script_of, shell_script


@pytest.mark.parametrize(
    ("words", "script"),
    [
        (["python", "count.py"], "count.py"),
        (["python3 -u", "bolts/count.py", "--fast"], "bolts/count.py"),
        (["node", "count.js"], "count.js"),
        (["streamparse_run", "bolts.count.CountBolt"], "bolts.count.CountBolt"),
        (["/venv/bin/streamparse_run -s json", "bolts.count.CountBolt"], "bolts.count.CountBolt"),
        (["python", "-m", "streamparse.run", "bolts.count.CountBolt"], "bolts.count.CountBolt"),
        (["python", "-m", "bolts.count"], "bolts.count"),
        (["./count"], ""),
        ([], ""),
    ],
)
def test_the_script_of_a_command(words, script):
    assert script_of(words) == script


def script(body, name="Count"):
    source = f"""
        package shop;
        import org.apache.storm.task.ShellBolt;
        import org.apache.storm.topology.IRichBolt;
        class Names {{ static final String SCRIPT = "named.py"; }}
        class Python extends ShellBolt {{
          Python(String interpreter, String script) {{ super(interpreter, "-u", script); }}
          Python(String script) {{ this("python", script); }}
        }}
        {body}"""
    lowered = lower_source(path="Shop.java", data=source.encode())
    program = Program([lowered.unit], load({}))
    return shell_script(program, lowered.unit.classes[name])


@pytest.mark.parametrize(
    "constructor",
    [
        'Count() { super("python", "count.py"); }',
        'Count(int n) { super(new String[] {"python", "count.py"}); this.n = n; }',
        'Count() { super("python", "count.py"); } Count(Map<String, String> env) { this(); this.setEnv(env); }',
        'Count() { super("python", "count" + ".py"); }',
        'Count(String python) { super(python, "count.py"); }',
    ],
)
def test_the_script_in_a_constructor(constructor):
    assert script(f"class Count extends ShellBolt implements IRichBolt {{ {constructor} }}") == "count.py"


def test_a_constant_names_the_script():
    assert (
        script('class Count extends ShellBolt { Count() { super("python", Names.SCRIPT); } }') == "named.py"
    )


def test_the_constructors_of_base_classes_are_followed():
    assert script('class Count extends Python { Count() { super("count.py"); } }') == "count.py"
    body = 'class Middle extends Python { Middle() { super("m.py"); } } class Count extends Middle { }'
    assert script(body) == "m.py"


def test_a_computed_script_is_a_gap():
    gap = Gap("the constructor of Count decides which script it runs", Place("Shop.java", 10))
    assert script('class Count extends ShellBolt { Count(String s) { super("python", s); } }') == gap
    two = 'Count() { super("python", "a.py"); } Count(int i) { super("python", "b.py"); }'
    assert script(f"class Count extends ShellBolt {{ {two} }}") == gap
    assert script("class Count extends ShellBolt { }") == gap


def test_constructors_that_call_each_other_end():
    body = "class Count extends ShellBolt { Count(int a) { this(a, a); } Count(int a, int b) { this(a); } }"
    assert isinstance(script(body), Gap)


def test_other_classes_run_no_script():
    assert script('class Count extends BaseRichBolt { Count() { super("python", "count.py"); } }') is None
