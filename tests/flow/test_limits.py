"""Handlers with too many paths to follow them all: the solver ends. One that does not fails by its timeout."""

from ackdoctor.dialects import load
from ackdoctor.flow.component import solve_component
from ackdoctor.flow.program import Program
from tests.checks.sources import codes, findings, in_bolt
from tests.effort import lines_run
from tests.flow.programs import link
from tests.frontends.java.lowered import unit


def flow_of(source):
    program = link({"bolt.py": source})
    (made,) = program.components
    (flow,) = (flow for flow in solve_component(program, made) if flow.entry is not None)
    return flow


def flags(count):
    """A handler that sets and tests `count` independent flags."""
    lines = ["def process(self, tup):"]
    lines += [f"    flag{n} = ready()" for n in range(count)]
    for n in range(count):
        lines += [f"    if flag{n}:", f"        work({n})"]
    for n in range(count):
        lines += [f"    if flag{n}:", f"        work(-{n})"]
    return in_bolt("\n".join([*lines, "    self.ack(tup)"]))


def test_forty_flags_do_not_reach_the_cap():
    assert not flow_of(flags(40)).limited


def test_forty_flags_tested_once_do_not_reach_the_cap():
    lines = ["def process(self, tup):"]
    for n in range(40):
        lines += [f"    if ready({n}):", f"        work({n})"]
    flow = flow_of(in_bolt("\n".join([*lines, "    self.ack(tup)"])))

    assert not flow.limited


def test_a_finding_on_a_widened_path_is_not_certain():
    contradiction = "self.ack(tup)\n        if flag0 and not flag0:\n            self.ack(tup)\n"
    few, many = (flags(count).replace("self.ack(tup)\n", contradiction) for count in (3, 40))

    assert [f.code for f in findings(few)] == []
    assert [f.confidence.word for f in findings(many) if f.code == "ACK103"] in ([], ["may"])


def test_a_finding_after_forty_flags_is_reported():
    source = flags(40).replace("self.ack(tup)\n", "self.ack(tup)\n        self.ack(tup)\n")

    assert [code for _, code in codes(source)] == ["ACK103"]


def test_deeply_nested_loops_end():
    lines = ["def process(self, tup):"]
    lines += ["    " * depth + f"for x{depth} in tup.values:" for depth in range(1, 15)]
    lines.append("    " * 15 + "self.ack(tup)")
    flow = flow_of(in_bolt("\n".join(lines)))

    assert not flow.limited


def test_a_finding_after_helpers_with_many_results_is_reported():
    lines = ["def process(self, tup):"]
    for n in range(12):
        lines += [f"    word{n} = self.word(tup)"]
    for n in range(12):
        lines += [
            f"    if word{n} == 'w0':",
            "        work(0)",
            f"    elif word{n} == 'w1':",
            "        work(1)",
        ]
    lines += ["    if tup.stream == 'z':", "        return", "    self.ack(tup)", "", "def word(self, tup):"]
    for n in range(6):
        lines += [f"    if tup.values[0] == {n}:", f"        return 'w{n}'"]
    source = in_bolt("\n".join([*lines, "    return 'other'"]))

    assert [code for _, code in codes(source)] == ["ACK101"]


def test_a_very_deep_chain_of_helpers_ends():
    lines = ["def process(self, tup):", "    self.h0(tup)"]
    for n in range(40):
        lines += ["", f"def h{n}(self, tup):", f"    self.h{n + 1}(tup)"]
    lines += ["", "def h40(self, tup):", "    self.ack(tup)"]
    flow = flow_of(in_bolt("\n".join(lines)))

    assert flow.limited


def test_recursion_ends_and_its_acks_count():
    source = in_bolt(
        """
        def walk(self, tup, parts):
            if parts:
                self.walk(tup, parts[1:])
            else:
                self.ack(tup)

        def process(self, tup):
            self.walk(tup, tup.values[0])
        """
    )

    assert codes(source) == []


def test_recursion_that_misses_an_ack_is_reported():
    source = in_bolt(
        """
        def walk(self, tup, parts):
            if parts:
                self.walk(tup, parts[1:])
            elif ready():
                self.ack(tup)

        def process(self, tup):
            self.walk(tup, tup.values[0])
        """
    )

    assert codes(source) == [(11, "ACK101")]


def test_mutual_recursion_ends():
    source = in_bolt(
        """
        def even(self, tup, n):
            if n:
                self.odd(tup, n - 1)
            else:
                self.ack(tup)

        def odd(self, tup, n):
            if n:
                self.even(tup, n - 1)
            else:
                self.fail(tup)

        def process(self, tup):
            self.even(tup, tup.values[0])
        """
    )

    assert codes(source) == []


def test_code_after_endless_mutual_recursion_is_unreachable():
    source = in_bolt(
        """
        def ping(self, tup):
            self.pong(tup)

        def pong(self, tup):
            self.ping(tup)

        def process(self, tup):
            self.ping(tup)
            self.ack(tup)
            self.ack(tup)
        """
    )

    assert codes(source) == []


def test_a_closure_that_calls_itself_ends():
    source = in_bolt(
        """
        def process(self, tup):
            def again(n):
                if n:
                    again(n - 1)
                else:
                    self.ack(tup)

            again(3)
        """
    )

    assert codes(source) == []


def chain_of(tests):
    """The lines of Python that run to solve an else-if chain of so many tests of one expression."""
    chain = " else ".join(f"if (t.getInteger(0) == {n}) {{ out.ack(t); }}" for n in range(tests))
    source = f"""
        import org.apache.storm.task.OutputCollector;
        import org.apache.storm.topology.base.BaseRichBolt;
        import org.apache.storm.tuple.Tuple;
        class Chain extends BaseRichBolt {{
            OutputCollector out;
            public void execute(Tuple t) {{ {chain} }}
        }}
        """
    program = Program([unit(source)], load({}))
    (made,) = program.components
    return lines_run(lambda: solve_component(program, made))


def test_the_work_of_an_else_if_chain_grows_linearly():
    assert chain_of(400) < 9 * chain_of(100)  # quadratic time would be sixteen times as long


def test_a_helper_is_solved_once_whatever_exception_its_caller_caught():
    tried = "    try:\n        work()\n    except Exception:\n        log.info('no')\n" * 28
    handler = f"def process(self, tup):\n{tried}    self.step()\n    self.ack(tup)\n"
    tests = [f"    if flag{n}:\n        work({n})\n" for n in 6 * [*range(5)]]
    flags = [f"    flag{n} = ready()\n" for n in range(5)]
    helper = "".join(["def step(self):\n", *flags, *tests, "    if ready():\n        raise ValueError\n"])
    flow = flow_of(in_bolt(f"{handler}\n{helper}"))

    assert not flow.limited
