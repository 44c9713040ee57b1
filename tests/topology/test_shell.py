"""Which script a shell component runs."""

import pytest

from ackdoctor.topology.readers import java
from ackdoctor.topology.shell import runs, script_of
from tests.topology.programs import link


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


def test_a_script_in_another_language_is_not_read():
    assert runs(["python", "count.py"], "Count") == ("count.py", "")
    assert runs(["node", "count.js"], "Count") == (
        "count.js",
        "count.js is written in JavaScript, which ackdoctor does not read",
    )
    assert runs(["./count"], "Count") == ("Count", "the command of Count names no script")


def component(create, classes):
    source = f"""
        package shop;
        import org.apache.storm.task.ShellBolt;
        import org.apache.storm.topology.*;
        class Names {{ static final String SCRIPT = "named.py"; }}
        class Python extends ShellBolt {{
          Python(String interpreter, String script) {{ super(interpreter, "-u", script); }}
          Python(String script) {{ this("python", script); }}
        }}
        {classes}
        class Main {{
          public static void main(String[] args) {{
            TopologyBuilder builder = new TopologyBuilder();
            builder.setBolt("count", {create}).shuffleGrouping("words");
            StormSubmitter.submitTopology("shop", new Config(), builder.createTopology());
          }}
        }}"""
    program = link({"Main.java": source})
    (topology,) = java.from_program(program, set(program.units))
    (node,) = topology.nodes
    return node.cls, node.unread


@pytest.mark.parametrize(
    ("create", "constructor"),
    [
        ("new Count()", 'Count() { super("python", "count.py"); }'),
        ("new Count(3)", 'Count(int n) { super(new String[] {"python", "count.py"}); this.n = n; }'),
        ("new Count()", 'Count() { super("python", "count" + ".py"); }'),
        ('new Count("count")', 'Count(String name) { super("python", name + ".py"); }'),
        ("new Count()", 'Count() { this(1); } Count(int n) { super("python", "count.py"); }'),
    ],
)
def test_the_script_in_a_constructor(create, constructor):
    cls = f"class Count extends ShellBolt implements IRichBolt {{ {constructor} }}"
    assert component(create, cls) == ("count.py", "")


def test_the_script_through_base_classes_and_constants():
    cls = "class Count extends Python { Count() { super(Names.SCRIPT); } }"
    assert component("new Count()", cls) == ("named.py", "")
    assert component('new Python("direct.py")', "") == ("direct.py", "")


def test_a_script_that_the_files_do_not_decide():
    cls = 'class Count extends ShellBolt { Count(String s) { super("python", s); } }'
    assert component("new Count(args[0])", cls) == ("Count", "the command of Count names no script")


def test_other_components_run_no_script():
    cls = 'class Count extends BaseRichBolt { Count() { this.path = "count.py"; } }'
    assert component("new Count()", cls) == ("shop.Count", "")
