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
from dataclasses import dataclass, field
from functools import cache
from itertools import count, product
from pathlib import Path
from random import Random
from types import ModuleType
from typing import NamedTuple, cast

from ackdoctor.lab.faults import Plan, random_plan
from ackdoctor.lab.loader import imported
from ackdoctor.lab.run import Options, Outcome, run
from ackdoctor.lab.wired import ackers_of, timeout_of
from ackdoctor.model.topology import Judged
from ackdoctor.tracer.install import installed_alone
from tests.agreement.test_topologies import DIFFERENCES, FOLDERS, MODULES, name, topology
from tests.agreement.test_topology_verdicts import CONF, OPTIONS, judged_topology
from tests.agreement.verdict_worlds import MESSAGES, WORLDS, World
from tests.frameworks import framework

MANY = 100  # messages of a source that has an end
POISONED = 3  # remainder of ten
SECONDS = 1.0  # with faults, in simulated time
RUNS_AS = {"ACK507": "ACK401"}  # without ticks, the buffer that they would flush is never drained
LONG = {"heronpy/sensors": (3700, 0.3)}  # seconds and rate: the window of an hour
LIMIT = 600.0  # seconds of real time: a busy machine must not decide


@dataclass(slots=True)
class Source(World):
    """A source with a hundred messages, or without an end: with `odd` ones, `bad` ones, and `poison` that is bad each time."""

    odd: bool = True
    bad: bool = True
    poison: bool = False
    spoiled: set[tuple[int, int]] = field(default_factory=set)

    def is_odd(self, message: int) -> bool:
        """Whether a message takes another way through the bolts."""
        return self.odd and super(Source, self).is_odd(message)

    def spoils(self, message: int, remainder: int) -> bool:
        """Whether a message with this remainder of ten comes for the first time."""
        key = (message, remainder)
        if not self.bad or message <= MESSAGES or message % 10 != remainder or key in self.spoiled:
            return False
        self.spoiled.add(key)
        return True

    def poisons(self, message: int) -> bool:
        """Whether a message is bad each time."""
        return self.poison and message > MESSAGES and message % 10 == POISONED

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


def source_of(folder: Path, seed: int) -> Source:
    """Return the source of a run.

    A sick topology gets bad records only with an odd seed: a worker that dies on one hides the other defects.  A sound
    one gets none that is bad each time, since its spout may send it again for ever.
    """
    sick, with_bad = folder.name.endswith("-sick"), seed % 2 == 1
    return Source(bad=with_bad or not sick, poison=with_bad and sick)


def run_fixture(
    folder: Path,
    plan: Plan,
    seed: int = 0,
    seconds: float = SECONDS,
    rate: float = 100,
    world: Source | None = None,
) -> Outcome:
    """Run a fixture under faults, with stand-ins for its business modules."""
    module = framework(MODULES[folder.parent.name])
    world = world or source_of(folder, seed)
    world.waiting.extend(range(len(world.waiting) + 1, MANY))
    judged = judged_fixture(folder)
    options = Options(
        project=folder,
        plan=plan,
        conf=CONF,
        component_options={node.id: OPTIONS for node in judged.topology.nodes},
        seed=seed,
        seconds=seconds,
        rate=rate,
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


@cache
def codes_of_a_run(folder: Path) -> frozenset[str]:
    """Return the rules that a sick fixture breaks when each of its components runs alone (`tests/agreement`)."""
    rows = DIFFERENCES.get(name(folder), [])
    lines = (folder / "findings.txt").read_text().splitlines()
    found = [re.search(r"(\S+):(\d+):\d+: (ACK[1-4]\d\d)", line) for line in lines]
    by_lint = {f"{each[1]}:{each[2]} {each[3]}" for each in found if each is not None}
    listed = {row.by_lint.rpartition(" ")[0] for row in rows}
    by_run = {row.by_run.rpartition(" ")[0] for row in rows if row.by_run}
    return frozenset(each.split()[-1] for each in by_lint - listed | by_run)


def run_long(folder: Path, records: str) -> Tried:
    """Run a sick fixture without faults, until its timers have fired: with plain, odd or bad records."""
    seconds, rate = LONG.get(topology(folder), (130, 10))
    world = Source(odd=records == "odd", bad=records == "bad", poison=records == "bad")
    outcome = run_fixture(folder, Plan(), 0, seconds, rate, world)
    codes = tuple(sorted({finding.code for finding in outcome.findings}))
    return Tried(name(folder), "none", 0, took_effect=False, loses=outcome.losses, codes=codes)


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
        sick_folders = [folder for folder in folders if folder.name.endswith("-sick")]
        long = list(pool.map(run_long, *zip(*product(sick_folders, ("plain", "odd", "bad")), strict=True)))
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
    seen, shown = 0, 0
    for folder in sick_folders:
        codes = {code for each in (*tries, *long) if each.fixture == name(folder) for code in each.codes}
        wanted = codes_of_a_run(folder)
        seen, shown = seen + len(wanted & codes), shown + len(wanted)
        print(f"{name(folder):30} not seen: {', '.join(sorted(wanted - codes)) or 'none'}")
    print(
        f"rules that the sick components break when each runs alone: {seen} of {shown} seen in their topologies"
    )
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main())
