"""Frameworks and versions from imports and build files."""

import pytest

from ackdoctor.topology.frameworks import framework_of, parsed
from ackdoctor.topology.texts import Texts

STORM = ("org.apache.storm.topology",)
OLD_STORM = ("backtype.storm.topology",)


def found(imports=STORM, path="app/src/T.java", **files: str) -> str:
    names = {name.replace("__", "/").replace("_x_", "."): text.encode() for name, text in files.items()}
    return framework_of(path, Texts(names), imports)


def pom(artifact: str, version: str, more: str = "") -> str:
    tag = f"<version>{version}</version>" if version else ""
    return (
        f"<project>{more}<dependencies><dependency><groupId>g</groupId><artifactId>{artifact}</artifactId>{tag}"
        "<scope>provided</scope></dependency></dependencies></project>"
    )


@pytest.mark.parametrize(
    ("file", "text", "framework"),
    [
        ("pom_x_xml", pom("storm-core", "1.2.4"), "storm 1.2.4"),
        ("pom_x_xml", pom("storm-client", "2.4.0"), "storm 2.4.0"),
        ("pom_x_xml", pom("storm-core", "0.9.5-SNAPSHOT"), "storm 0.9.5"),
        ("pom_x_xml", pom("jstorm-core", "2.4.0"), "jstorm 2.4.0"),
        ("pom_x_xml", pom("heron-storm", "0.20.0-incubating"), "heron 0.20.0"),
        ("build_x_gradle", "compile 'org.apache.storm:storm-core:1.0.2'", "storm 1.0.2"),
        (
            "build_x_gradle",
            'ext { stormVersion = "1.1.0" }\ncompile "org.apache.storm:storm-core:${stormVersion}"',
            "storm 1.1.0",
        ),
        (
            "build_x_gradle",
            "compile group: 'org.apache.storm', name: 'storm-client', version: '2.1.0'",
            "storm 2.1.0",
        ),
        ("build_x_sbt", '"org.apache.storm" % "storm-core" % "1.0.1" % "provided"', "storm 1.0.1"),
        ("project_x_clj", ':dependencies [[org.apache.storm/storm-core "0.10.2"]]', "storm 0.10.2"),
        ("project_x_clj", ':profiles {:dev {:dependencies [[storm "0.8.1"]]}}', "storm 0.8.1"),
    ],
)
def test_a_build_file_names_the_version(file, text, framework):
    assert found(**{file: text}) == framework


def test_a_version_follows_properties_into_the_parent():
    parent = "<project><properties><storm.version>1.2.2</storm.version></properties></project>"
    assert found(app__pom_x_xml=pom("storm-core", "${storm.version}"), pom_x_xml=parent) == "storm 1.2.2"
    managed = pom("storm-core", "1.1.1")
    assert found(app__pom_x_xml=pom("storm-core", ""), pom_x_xml=managed) == "storm 1.1.1"
    own = pom("storm-client", "${project.version}", "<parent><version>2.8.8</version></parent>")
    assert found(pom_x_xml=own) == "storm 2.8.8"


def test_the_nearest_build_file_decides_the_framework():
    assert (
        found(app__pom_x_xml=pom("jstorm-core", "2.1.1"), pom_x_xml=pom("storm-core", "1.0"))
        == "jstorm 2.1.1"
    )
    assert found(other__pom_x_xml=pom("jstorm-core", "2.1.1")) == "storm>=1"


def test_a_commented_dependency_is_none():
    assert found(pom_x_xml=f"<!-- {pom('storm-core', '1.0')} -->") == "storm>=1"


def test_imports_decide_where_no_build_file_does():
    assert found() == "storm>=1"
    assert found(OLD_STORM) == "storm<1"
    assert found(("java.util.List",)) == ""
    assert found(("org.apache.heron.api.topology",)) == "heron"
    assert found(("com.alibaba.jstorm.utils",)) == "jstorm"


def test_storm_imports_run_on_what_the_build_file_names():
    assert found(OLD_STORM, pom_x_xml=pom("jstorm-core", "")) == "jstorm"
    assert found(OLD_STORM, pom_x_xml=pom("heron-storm", "0.17.8")) == "heron 0.17.8"


@pytest.mark.parametrize(
    ("line", "framework"),
    [
        ("streamparse", "streamparse"),
        ("streamparse==3.4.0", "streamparse 3.4.0"),
        ("streamparse>=3.0", "streamparse>=3.0"),
        ("streamparse<3", "streamparse<3"),
        ("streamparse~=4.1", "streamparse>=4.1"),
        ("streamparse-extras==9", "streamparse"),
    ],
)
def test_requirements_name_the_version_of_a_python_framework(line, framework):
    assert found(("streamparse",), "p/topologies/t.py", p__requirements_x_txt=line) == framework
    assert found(("streamparse",), "p/topologies/t.py", p__virtualenvs__t_x_txt=line) == framework


def test_a_python_framework_says_on_which_storm_it_runs():
    files = {
        "requirements_x_txt": "streamparse==3.4.0\n",
        "project_x_clj": '[org.apache.storm/storm-core "1.0.2"]',
    }
    assert found(("streamparse",), "topologies/t.py", **files) == "streamparse 3.4.0, storm 1.0.2"


@pytest.mark.parametrize(
    ("description", "condition", "answer"),
    [
        ("storm 1.2.4", "storm>=1.0", True),
        ("storm 1.2.4", "storm>=1.2.4", True),
        ("storm 1.2.4", "storm<1.2", False),
        ("storm 0.9.5", "storm>=1.0", False),
        ("storm>=1", "storm>=1.0", None),
        ("storm>=1", "storm>=1", True),
        ("storm<1", "storm>=1.0", False),
        ("storm", "storm>=1.0", None),
        ("", "storm", True),
        ("", "heron", False),
        ("heron 0.20", "storm", False),
        ("heron", "heron>=0.16.5", None),
        ("streamparse 1-2", "streamparse<3", True),
        ("streamparse>=3", "streamparse<3", False),
        ("streamparse, storm 1.0.2", "storm>=1.0", True),
        ("streamparse", "storm", True),
        ("streamparse 3.4.0, storm 1.0.2", "streamparse>=3", True),
    ],
)
def test_a_condition_holds_fails_or_is_open(description, condition, answer):
    assert parsed(description).meets(condition) is answer
