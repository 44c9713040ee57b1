"""Run random plans of faults over the Python fixture topologies, and count what the lab says about them.

    python -m benchmarks.lab_plans [--plans 1000] [--seed 0] [--jobs 2] [--only FIXTURE] [-v]

A plan fails if a message is lost, stuck or open, or if a component breaks a rule.  A healthy topology survives every plan:
a failure is a false alarm.  A sick one fails, and a component of it breaks a rule of its `findings.txt`, or one that
`DIFFERENCES.md` lists for a run, or `RUNS_AS`; any other code is a wrong one.  The plans are those of `lab run --search`; the number of a
plan is its seed and that of its run.  Exit code: 1 for a false alarm, a wrong code or a sick topology that survives.
"""

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import cache
from itertools import count
from pathlib import Path
from random import Random
from types import ModuleType
from typing import NamedTuple, cast

from ackdoctor.lab.faults import Plan
from ackdoctor.lab.loader import imported
from ackdoctor.lab.run import Options, Outcome, run
from ackdoctor.lab.search import random_plan
from ackdoctor.lab.wired import ackers_of, timeout_of
from ackdoctor.model.topology import Judged
from ackdoctor.tracer.install import installed_alone
from tests.agreement.test_topologies import DIFFERENCES, FOLDERS, MODULES, name, topology
from tests.agreement.test_topology_verdicts import CONF, OPTIONS, judged_topology
from tests.agreement.verdict_worlds import WORLDS, World
from tests.frameworks import framework

MANY = 100  # messages of a source that has an end
SECONDS = 1.0  # with faults, in simulated time
RUNS_AS = {"ACK507": "ACK401"}  # without ticks, the buffer that they would flush is never drained
LIMIT = 600.0  # seconds of real time: a busy machine must not decide


class Source(World):
    """A source with a hundred messages, or without an end."""

    def follow(self) -> Iterator[int]:
        """Yield messages for ever, from the first one for each new spout."""
        return count(1)


class Tried(NamedTuple):
    """What the lab says about one plan; `codes` are the rules that a component broke in the run."""

    fixture: str
    plan: str
    seed: int
    took_effect: bool
    loses: bool
    codes: tuple[str, ...]

    @property
    def fails(self) -> bool:
        """Whether the topology did not survive the plan."""
        return self.loses or bool(self.codes)


@cache
def judged_fixture(folder: Path) -> Judged:
    """Return the topology of a fixture as lint reads it."""
    return judged_topology(folder)


@cache
def expected_codes(folder: Path) -> frozenset[str]:
    """Return the rules that a run of a fixture may report."""
    listed = [row.by_run for row in DIFFERENCES.get(name(folder), [])]
    found = (folder / "findings.txt").read_text() if folder.name.endswith("-sick") else ""
    codes = re.findall(r"ACK\d+", " ".join([found, *listed]))
    return frozenset([*codes, *(RUNS_AS[code] for code in codes if code in RUNS_AS)])


def run_fixture(folder: Path, plan: Plan, seed: int = 0, seconds: float = SECONDS) -> Outcome:
    """Run a fixture under faults, with stand-ins for its business modules."""
    module = framework(MODULES[folder.parent.name])
    world = Source()
    world.waiting.extend(range(len(world.waiting) + 1, MANY))
    judged = judged_fixture(folder)
    options = Options(
        project=folder,
        plan=plan,
        conf=CONF,
        component_options={node.id: OPTIONS for node in judged.topology.nodes},
        seed=seed,
        seconds=seconds,
        limit=LIMIT,
        folder=str(folder),
    )
    with _standing_in(module, WORLDS[topology(folder)](world)), imported(judged, folder) as classes:
        return run(judged, classes, options, installed_alone)


@contextmanager
def _standing_in(module: ModuleType, modules: Mapping[str, object]) -> Iterator[None]:
    sys.modules.update(cast("Mapping[str, ModuleType]", modules))
    decode = vars(module).get("json_decode")
    if decode is not None:
        vars(module)["json_decode"] = json.loads  # storm.py's simplejson would reject NaN
    try:
        yield
    finally:
        if decode is not None:
            vars(module)["json_decode"] = decode
        for each in modules:
            del sys.modules[each]


def attempt(folder: Path, seed: int, seconds: float = SECONDS) -> Tried:
    """Run one random plan."""
    judged = judged_fixture(folder)
    plan = random_plan(
        Random(seed),
        [node.id for node in judged.topology.nodes if node.role == "bolt"],
        timeout_s=timeout_of(judged),
        has_acker=ackers_of(judged) > 0,
    )
    outcome = run_fixture(folder, plan, seed, seconds)
    return Tried(
        fixture=name(folder),
        plan=str(plan),
        seed=seed,
        took_effect=bool(plan.slows or outcome.dropped or any(each.planned for each in outcome.deaths)),
        loses=outcome.losses or bool(outcome.stopped),
        codes=tuple(sorted({finding.code for finding in outcome.findings})),
    )


def report(folder: Path, tries: Sequence[Tried]) -> bool:
    """Print the row of a fixture; return whether every plan was judged rightly."""
    expected, sick = expected_codes(folder), folder.name.endswith("-sick")
    failed = sum(each.fails for each in tries)
    caught = sum(not expected.isdisjoint(each.codes) for each in tries)
    wrong = [each for each in tries if not expected.issuperset(each.codes) or (each.fails and not sick)]
    codes = Counter(code for each in tries for code in each.codes)
    print(
        f"{name(folder):30} {len(tries):6} {sum(each.took_effect for each in tries):9} {failed:7} {caught:7} {len(wrong):6}  ",
        ", ".join(f"{code} {times}" for code, times in sorted(codes.items())),
        f"(of {', '.join(sorted(expected))})" if expected else "",
    )
    for each in wrong:
        print(f"    wrong: {' '.join(each.codes) or 'loses'}: {each.plan} --seed {each.seed}")
    return not wrong and (not sick or caught == len(tries))


def main() -> int:
    """Run the plans in processes, and print a row for each fixture, and the totals."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--plans", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="", help="a part of the fixture's name")
    arguments = parser.parse_args()
    folders = [folder for folder in FOLDERS if arguments.only in name(folder)]
    work = [
        (folders[number % len(folders)], arguments.seed + number // len(folders))
        for number in range(arguments.plans)
    ]
    with ProcessPoolExecutor(arguments.jobs) as pool:
        tries = list(pool.map(attempt, *zip(*work, strict=True)))
    print(
        f"{'fixture':30} {'plans':>6} {'effective':>9} {'failed':>7} {'caught':>7} {'wrong':>6}   codes of the runs"
    )
    right = [report(folder, [each for each in tries if each.fixture == name(folder)]) for folder in folders]
    healthy = [each for each in tries if each.fixture.endswith("-healthy")]
    sick = [each for each in tries if each.fixture.endswith("-sick")]
    alarms, failed = sum(each.fails for each in healthy), sum(each.fails for each in sick)
    print(
        f"{len(tries)} plans: {alarms} false alarms in {len(healthy)} healthy runs; recall {failed} of {len(sick)} sick runs"
    )
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main())
