"""Topologies in Java for the tests of their reader."""

from ackdoctor.model.topology import Gap, Topology
from ackdoctor.topology.readers.java import from_program
from tests.topology.programs import link

IMPORTS = """package demo;
import org.apache.storm.*;
import org.apache.storm.topology.*;
import org.apache.storm.tuple.Fields;
import org.apache.storm.utils.Utils;
import java.util.*;
"""
GRAPH = 'TopologyBuilder b = new TopologyBuilder(); b.setSpout("words", new Words(), 2);\n'


def read(body: str, more: str = "", imports: str = "", **files: str) -> tuple[Topology, ...]:
    """The topologies of a `main` with this body, which starts in line 9 without further imports."""
    main = f"{IMPORTS}{imports}public class Main {{\n public static void main(String[] args) throws Exception {{\n{body}\n}}\n{more}\n}}"
    program = link(
        {"demo/Main.java": main, **{f"demo/{name}.java": IMPORTS + text for name, text in files.items()}}
    )
    return from_program(program, {"demo/Main.java"})


def one(body: str, more: str = "", imports: str = "", **files: str) -> Topology:
    (topology,) = read(body, more, imports, **files)
    return topology


def edges(topology: Topology) -> list[str]:
    return [f"{e.source} -{e.stream}/{e.grouping}-> {e.target}" for e in topology.edges]


def settings(topology: Topology) -> dict[str, object]:
    return {
        f"{each.component}:{each.key}": each.value.why if isinstance(each.value, Gap) else each.value
        for each in topology.settings
        if each.effective
    }
