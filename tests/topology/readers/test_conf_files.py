"""Configuration files that scripts pass with `-conf`, and the cluster's `storm.yaml`."""

from dataclasses import replace

import pytest

from ackdoctor.model.topology import Defect, Gap, Place, Setting, Topology
from ackdoctor.topology.readers.conf_files import with_cluster_file, with_conf_files, with_possible_values
from ackdoctor.topology.settings import effective
from ackdoctor.topology.texts import Texts

ACKERS, TIMEOUT = "topology.acker.executors", "topology.message.timeout.secs"
REQUESTS = "drpc.request.timeout.secs"
MAIN = "src/main/java/org/x/CrawlTopology.java"
RUN = "#!/bin/sh\nstorm jar target/x.jar org.x.CrawlTopology -conf crawler-conf.yaml\n"


def topology(*settings: Setting, defects=(), **files: str) -> Topology:
    found = Topology(
        name="crawl",
        kind="java-configurable",
        framework="storm 2.4.0",
        place=Place(MAIN, 9),
        nodes=(),
        edges=(),
        settings=settings,
        defects=defects,
    )
    named = {name.replace("_x_", "."): text.encode() for name, text in files.items()}
    return with_conf_files(
        found, Texts({key.replace("conf_yaml", "-conf.yaml"): text for key, text in named.items()})
    )


def test_a_file_that_a_script_names_is_unwrapped():
    found = topology(run_x_sh=RUN, crawlerconf_yaml=f"config:\n  {ACKERS}: 0\n")
    setting = effective(found, ACKERS)
    assert (setting.value, setting.place) == (0, Place("crawler-conf.yaml", 2))
    assert setting.why == "if crawler-conf.yaml is given with -conf, as in run.sh:2"


def test_a_file_with_other_keys_is_taken_as_it_is():
    found = topology(run_x_sh=RUN, crawlerconf_yaml=f"config:\n  a: 1\n{TIMEOUT}: 7\n")
    assert effective(found, TIMEOUT).value == 7


def test_what_the_code_sets_wins():
    own = Setting(key=ACKERS, value=2, place=Place(MAIN, 12))
    found = topology(own, run_x_sh=RUN, crawlerconf_yaml=f"{ACKERS}: 0\n")
    assert effective(found, ACKERS) == own


def test_a_later_file_wins():
    run = RUN.replace("crawler-conf.yaml", "crawler-conf.yaml \\\n  -conf es-conf.yaml")
    found = topology(run_x_sh=run, crawlerconf_yaml=f"{TIMEOUT}: 7\n", esconf_yaml=f"{TIMEOUT}: 9\n")
    assert effective(found, TIMEOUT).value == 9


def test_a_file_that_no_script_names_is_not_used():
    assert topology(crawlerconf_yaml=f"{ACKERS}: 0\n").settings == ()
    other = RUN.replace("CrawlTopology", "OtherTopology")
    assert topology(run_x_sh=other, crawlerconf_yaml=f"{ACKERS}: 0\n").settings == ()


def test_scripts_that_differ_leave_the_setting_open():
    other = RUN.replace("crawler-conf.yaml", "es-conf.yaml")
    files = {"crawlerconf_yaml": f"{TIMEOUT}: 7\n{ACKERS}: 1\n", "esconf_yaml": f"{TIMEOUT}: 7\n"}
    found = topology(run_x_sh=RUN, other_x_sh=other, **files)
    assert effective(found, TIMEOUT).value == 7
    assert isinstance(effective(found, ACKERS).value, Gap)


def test_a_missing_file_leaves_the_settings_open():
    value = effective(topology(run_x_sh=RUN), ACKERS).value
    assert value == Gap(
        "crawler-conf.yaml is given with -conf and is not among the files", Place("run.sh", 2)
    )


def test_a_config_object_that_is_never_submitted_takes_the_file_with_it():
    shadowed = Defect(kind="config-object-shadowed", sure="certain", place=Place(MAIN, 8), why="")
    assert topology(defects=(shadowed,), run_x_sh=RUN, crawlerconf_yaml=f"{ACKERS}: 0\n").settings == ()


def test_values_that_the_code_may_read_precede_the_open_one():
    gap = Gap('commonConfig.get("storm.ackers").intValue()', Place(MAIN, 20))
    open_one = Setting(key=ACKERS, value=gap, place=Place(MAIN, 21))
    texts = Texts(
        {"a.yaml": b"storm.ackers: 2\n", "b.yaml": b"x: 1\nstorm.ackers: 0\n", "c.yaml": b"x: storm.ackers\n"}
    )
    found = with_possible_values(topology(open_one), texts)
    assert [(each.value, str(each.place)) for each in found.settings[:-1]] == [
        (2, "a.yaml:1"),
        (0, "b.yaml:2"),
    ]
    assert effective(found, ACKERS) == open_one


def test_a_key_without_a_dot_may_be_anything():
    gap = Gap('conf.get("ackers")', Place(MAIN, 20))
    open_one = Setting(key=ACKERS, value=gap, place=Place(MAIN, 21))
    assert with_possible_values(topology(open_one), Texts({"a.yaml": b"ackers: 0\n"})).settings == (open_one,)


@pytest.mark.parametrize(
    ("text", "expected", "opened"),
    [
        (f"nimbus.seeds: [a]\n{ACKERS}: 0\n", [("ackers-zero", "information", 2)], [ACKERS]),
        (
            "topology.enable.message.timeouts: false\n",
            [("timeouts-off", "information", 1)],
            ["topology.enable.message.timeouts"],
        ),
        (f"{ACKERS}: 2\n", [], []),
        (f"{ACKERS}: false\n", [], []),
        (f"{TIMEOUT}: 10\n", [], [TIMEOUT]),
        ("a: [\n", [], []),
    ],
)
def test_what_the_clusters_file_sets_is_open(text, expected, opened):
    found = with_cluster_file(topology(), Texts({"conf/storm.yaml": text.encode()}))
    assert [(each.kind, each.sure, each.place.line) for each in found.defects] == expected
    assert [each.key for each in found.settings] == opened
    assert all("if conf/storm.yaml is the cluster's file" in each.value.why for each in found.settings)


def test_the_clusters_file_has_the_timeout_of_requests():
    own = Setting(key=REQUESTS, value=900, place=Place(MAIN, 12))
    found = with_cluster_file(topology(own), Texts({"storm.yaml": f"{REQUESTS}: 90".encode()}))
    assert [(each.value, each.place.path) for each in found.settings] == [(90, "storm.yaml"), (900, MAIN)]


def test_settings_that_a_framework_injects_win_over_the_clusters_file():
    old = replace(topology(), framework="streamparse 2.1 storm 0.9.5")
    assert with_cluster_file(old, Texts({"storm.yaml": f"{ACKERS}: 0".encode()})).settings == ()


def test_the_topologys_own_setting_makes_the_clusters_irrelevant():
    own = Setting(key=ACKERS, value=None, place=Place(MAIN, 12))
    assert with_cluster_file(topology(own), Texts({"storm.yaml": f"{ACKERS}: 0".encode()})).defects == ()
