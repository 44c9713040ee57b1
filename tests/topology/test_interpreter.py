"""The abstract interpreter on small functions in both languages: the calls that it logs on each path."""

from .programs import calls, outcomes

HEAD = "package p;\nimport lib.*;\n"


def java(body: str, more: str = "", **files: str) -> dict[str, str]:
    """A file with `Main.main` of that body, and further classes."""
    main = f"{HEAD}class Main {{ static void main(String[] args) {{ {body} }} {more} }}"
    return {"p/Main.java": main, **{f"p/{name}.java": HEAD + text for name, text in files.items()}}


def run(body: str, more: str = "", **files: str) -> tuple[str, ...]:
    return calls(java(body, more, **files), "main", "Main")


def test_constants_of_other_classes_are_followed() -> None:
    found = run(
        'new Box().put(Names.SPOUT + "-" + Names.COUNT, Names.deep());',
        Names='class Names { static final String SPOUT = "words"; static final int COUNT = make(3);'
        " static int make(int n) { return n + 1; } static String deep() { return SPOUT; } }",
    )
    assert found == ("put('words-4', 'words')",)


def test_an_enum_constant_is_its_name() -> None:
    found = run(
        "new Box().put(Kind.SPOUT, Kind.BOLT.name(), Kind.BOLT.title());",
        Kind='enum Kind { SPOUT("s"), BOLT("b"); private final String title; Kind(String t) { title = t; }'
        " String title() { return title; } }",
    )
    assert found[-1] == "put(SPOUT, 'BOLT', 'b')"


def test_fields_are_set_by_constructors_and_base_classes() -> None:
    found = run(
        'new Child("x").build(new Box());',
        Base="class Base { String id; int n = 2; Base(String id) { this.id = id; }"
        " void build(Box box) { box.add(id, n, extra()); } int extra() { return 0; } }",
        Child="class Child extends Base { Child(String id) { super(id + 1); } int extra() { return 7; } }",
    )
    assert found[-1] == "add('x1', 2, 7)"


def test_maps_are_followed() -> None:
    found = run(
        'Map<String, Object> m = new HashMap<>(); m.put("a", 1); fill(m); new Box().set(m.get("a"), m.get("b"));',
        'static void fill(Map<String, Object> m) { m.put("b", m.get("a") + "!"); }',
    )
    assert found[-1] == "set(1, '1!')"


def test_an_initialiser_block_of_an_anonymous_class_fills_the_object() -> None:
    assert run(
        'final int n = 3; use(new Conf() {{ put("k", n); }});', "static void use(Conf c) { c.done(1); }"
    ) == (
        "put('k', 3)",
        "done(1)",
    )


def test_a_known_loop_is_unrolled() -> None:
    found = run('Box b = new Box(); for (int i = 0; i < 3; i++) { b.add("s-" + i); }')
    assert found == ("add('s-0')", "add('s-1')", "add('s-2')")
    found = run('Box b = new Box(); for (String s : new String[] {"x", "y"}) { b.add(s); }')
    assert found == ("add('x')", "add('y')")


def test_a_loop_over_unknown_elements_runs_once_and_marks_its_calls() -> None:
    found = run("Box b = new Box(); for (String s : args) { b.add(s); } b.done(1);")
    assert found == ("*add(s)", "done(1)")
    found = run(
        "Box b = new Box(); int n = args.length; for (int i = 0; i < n; i++) { put(b, i); } b.done(1);",
        "static void put(Box b, int i) { b.add(1); }",
    )
    assert found == ("*add(1)", "done(1)")


def test_an_undecided_branch_is_followed_both_ways() -> None:
    found = outcomes(
        java('Box b = new Box(); if (args.length > 0) { b.add(args[0]); } else { b.add("t"); }'),
        "main",
        "Main",
    )
    assert [(path.outcome, [d.text for d in path.decisions]) for path in found.paths] == [
        (("add(args[0])",), ["args.length > 0"]),
        (("add('t')",), ["args.length <= 0"]),
    ]


def test_equal_conditions_have_equal_results() -> None:
    found = outcomes(
        java("Box b = new Box(); if (args.length > 0) { b.add(1); } if (!(args.length <= 0)) { b.add(2); }"),
        "main",
        "Main",
    )
    assert [path.outcome for path in found.paths] == [("add(1)", "add(2)"), ()]


def test_a_decided_branch_is_not_forked() -> None:
    found = run(
        "Box b = new Box(); if (Flags.ON) { b.add(1); } else { b.add(2); } switch (Flags.NAME) {"
        ' case "x": b.add(3); break; case "y": b.add(4); break; default: b.add(5); }',
        Flags='class Flags { static final boolean ON = true; static final String NAME = "y"; }',
    )
    assert found == ("add(1)", "add(4)")


def test_branches_that_change_nothing_do_not_multiply() -> None:
    tests = "".join(f"if (args[{i}] != null) {{ n = {i}; }}" for i in range(40))
    found = outcomes(
        java(f"int n = 0; Box b = new Box(); {tests} if (args.length > 0) {{ b.add(1); }}"), "main", "Main"
    )
    assert [path.outcome for path in found.paths] == [("add(1)",), ()]
    assert len(found.relevant) == 1


def test_more_paths_than_are_followed_are_reported() -> None:
    tests = "".join(f"if (args[{i}] != null) {{ b.add({i}); }}" for i in range(8))
    found = outcomes(java(f"Box b = new Box(); {tests}"), "main", "Main")
    assert found.truncated


def test_a_caught_exception_follows_the_normal_path() -> None:
    assert run(
        "Box b = new Box(); try { b.add(1); } catch (Exception e) { b.add(2); } finally { b.add(3); }"
    ) == (
        "add(1)",
        "add(3)",
    )
    assert run('Box b = new Box(); try { throw new Odd("x"); } catch (Odd e) { b.add(2); }') == (
        "Odd('x')",
        "add(2)",
    )


def test_an_exit_ends_the_path() -> None:
    assert run("Box b = new Box(); b.add(1); if (true) { System.exit(1); } b.add(2);") == ("add(1)",)


def test_a_branch_that_ends_the_run_at_once_is_not_followed() -> None:
    for end in ("System.exit(1);", 'Log.say(); throw new Odd("x");'):
        found = outcomes(
            java(f"Box b = new Box(); if (args.length < 1) {{ {end} }} b.add(args[0]);"), "main", "Main"
        )
        assert [path.outcome for path in found.paths] == [("add(args[0])",)]


def test_a_fluent_chain_keeps_the_line_of_each_name() -> None:
    program = java("Box b = new Box();\n b.add(1)\n  .link(2,\n 3)\n  .last(4);")
    found = outcomes(program, "main", "Main")
    assert found.paths[0].outcome == ("add(1)", "link(2, 3)", "last(4)")


def test_recursion_and_endless_loops_end() -> None:
    assert run("loop(new Box());", "static void loop(Box b) { b.add(1); loop(b); }") == ("add(1)", "add(1)")
    assert run("Box b = new Box(); while (true) { b.add(1); }")[:2] == ("add(1)", "add(1)")


def test_a_python_function_receives_defaults_and_keywords() -> None:
    files = {
        "make.py": """
            from lib import Box
            import names

            def create(builder, par=names.PAR):
                for word in ["a", "b"]:
                    add(builder, word, par=par)

            def add(builder, word, par=1, **more):
                builder.set(word + "!", par, "%s-%d" % (word, par), f"{word}{par}")
        """,
        "names.py": "PAR = 2 + 1\n",
    }
    found = calls(files, "create")
    assert found == ("set('a!', 3, 'a-3', 'a3')", "set('b!', 3, 'b-3', 'b3')")


def test_a_python_module_body_runs_as_the_main_module() -> None:
    files = {
        "main.py": """
            from lib import Box
            from parts import PREFIX, Maker

            box = Box("b")
            CONF = {"a": 1}
            CONF["b"] = 2

            def main():
                Maker(box).make(**CONF)

            if __name__ == "__main__":
                main()
        """,
        "parts.py": """
            PREFIX = "p-"
            class Maker:
                kind = PREFIX + "kind"
                def __init__(self, box):
                    self.box = box
                def make(self, a, b=0):
                    self.box.add(self.kind, a, b)
        """,
    }
    assert calls(files, "<module>")[-1] == "add('p-kind', 1, 2)"


def test_odd_code_never_raises() -> None:
    for body in (
        "this.x.y = 3;",
        "int[] a = {}; a[5] = a[7] + 1;",
        "args[0].x().y[3].z();",
        "new Main.Inner().go(null);",
        "Object o = 1 / 0; use(o);",
        "String s = null; s.trim().put(1, 2);",
        "Unknown.X.y(1)(2);",
    ):
        outcomes(java(body), "main", "Main")


def test_a_class_is_found_by_a_name_that_the_code_knows() -> None:
    maker = "class Maker { String id; Maker(String id) { this.id = id; } }"
    found = run(
        'Maker one = (Maker) Class.forName(NAME).getDeclaredConstructor(String.class).newInstance("a");'
        ' Maker two = (Maker) Main.class.getClassLoader().loadClass("p.Maker").newInstance("b");'
        ' new Box().put(one.id, two.id, Class.forName("x.Away").newInstance(), Class.forName(args[0]).newInstance());',
        'static final String NAME = "p." + "Maker";',
        Maker=maker,
    )
    assert (
        found[-1]
        == "put('a', 'b', Class.forName(\"x.Away\").newInstance(), Class.forName(args[0]).newInstance())"
    )
