"""What the reader of topologies in Java does not follow."""

import pytest

from ackdoctor.topology.readers.java import from_program
from tests.topology.programs import link
from tests.topology.readers.java_topologies import GRAPH, IMPORTS, one

SUBMIT = 'StormSubmitter.submitTopology("d", new Config(), b.createTopology());'
NESTED = 'static void chain(TopologyBuilder b, int n) { if (n == 0) return; b.setBolt("c" + n, new Count()); chain(b, n - 1); }'
FIBONACCI = "static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }"


@pytest.mark.parametrize(
    ("body", "more", "why"),
    [
        ("com.other.More.add(b);", "", "`add` may wire more"),
        ("make(args).wire(b);", "static Wirer make(String[] args) { return null; }", "`wire` may wire more"),
        ('com.other.More.feed(b.setBolt("c", new Count()));', "", "`feed` may wire more"),
        (
            'Executors.submit(() -> b.setBolt("c", new Count()));',
            "",
            "`setBolt` is in a function that other code calls",
        ),
        ('for (int i = 0; i < 200; i++) b.setBolt("c" + i, new Count());', "", "after the first 128"),
        ('int i = 0; while (i++ < 200) b.setBolt("c" + i, new Count());', "", "longer than is followed"),
        ("chain(b, 6);", NESTED, "the recursion of `chain`"),
    ],
)
def test_code_that_may_wire_more_is_a_gap(body: str, more: str, why: str) -> None:
    found = one(GRAPH + body + "\n" + SUBMIT, more)
    assert [gap.why for gap in found.gaps if why in gap.why], found.gaps


@pytest.mark.parametrize(
    ("body", "more"),
    [
        ("System.out.println(b); LOG.info(b);", ""),
        ("List<Object> all = new ArrayList<>(); for (int i = 0; i < 200; i++) all.add(i);", ""),
        ("System.out.println(fib(6));", FIBONACCI),
        ("new Helper(b).add();", ""),
        ("while (true) { Thread.sleep(1); }", ""),
    ],
)
def test_code_that_wires_nothing_is_no_gap(body: str, more: str) -> None:
    helper = 'class Helper { TopologyBuilder b; Helper(TopologyBuilder b) { this.b = b; } void add() { b.setBolt("c", new Count()); } }'
    after = body.startswith("while")
    found = one(GRAPH + (SUBMIT + body if after else body + "\n" + SUBMIT), more, Helper=helper)
    assert found.gaps == ()


def test_a_loop_that_wires_stays_within_its_limit() -> None:
    found = one(GRAPH + 'for (int i = 0; i < 128; i++) b.setBolt("c" + i, new Count());\n' + SUBMIT)
    assert (found.gaps, len(found.nodes)) == ((), 129)


LONG = "int s = 0; for (int i = 0; i < 100; i++) for (int k = 0; k < 100; k++) s += i * k;\n"


def test_a_path_that_is_too_long_before_it_wires_is_said() -> None:
    found = one(LONG + GRAPH + SUBMIT)
    assert (found.nodes, str(found.place)) == ((), "demo/Main.java:8")
    assert "the entry point `Main.main` is not judged" in found.gaps[0].why


def test_a_path_that_is_too_long_after_the_submission_loses_nothing() -> None:
    assert one(GRAPH + SUBMIT + LONG).gaps == ()


def test_entry_points_over_the_limit_are_said() -> None:
    files = {
        f"demo/M{i}.java": f"{IMPORTS}class M{i} {{ public static void main(String[] args) {{ Run.run(new TopologyBuilder()); }} }}"
        for i in range(45)
    }
    run = 'class Run { static void run(TopologyBuilder b) { b.setSpout("w", new Words()); ' + SUBMIT + " } }"
    found = from_program(link({**files, "demo/Run.java": IMPORTS + run}), set(files))
    unread = [each for each in found if not each.nodes]
    assert len(unread) == 5
    assert {each.gaps[0].place.line for each in unread} == {7}
    assert all("more branches or entry points than are followed" in each.gaps[0].why for each in unread)
