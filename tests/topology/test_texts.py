"""Which text files matter, and what one file means by the name of another."""

import pytest

from ackdoctor.topology.texts import Texts, matters, may_matter


@pytest.mark.parametrize(
    ("path", "data"),
    [
        ("a/topology.yaml", b"name: x\nspouts:\n  - id: a\n"),
        ("pyleus_topology.yaml", b"topology:\n    - spout:\n        name: a\n"),
        ("crawler.flux", b"includes:\n"),
        ("conf.yml", b"config:\n  a: 1\n"),
        ("storm.yaml", b'storm.zookeeper.servers:\n - "zk"\n'),
        ("app.yaml.erb", b"topology.workers: <%= @n %>\n"),
        ("topologies/count.clj", b"(python-bolt-spec options"),
        ("config.json", b'{"envs": {}}'),
        ("pom.xml", b"<artifactId>storm-core</artifactId>"),
        ("build.gradle", b"compile 'org.apache.storm:storm-core:1.2.4'"),
        ("requirements-dev.txt", b"streamparse==3.4\n"),
        ("virtualenvs/count.txt", b"streamparse\n"),
        ("dev.properties", b"ackers=2\n"),
        ("run.sh", b"storm jar a.jar org.apache.storm.flux.Flux --filter dev.properties t.yaml\n"),
    ],
)
def test_a_file_of_a_topology_matters(path, data):
    assert may_matter(path)
    assert matters(path, data)


@pytest.mark.parametrize(
    ("path", "data"),
    [
        (".travis.yml", b"language: python\nscript: make\n"),
        ("pom.xml", b"<artifactId>junit</artifactId>"),
        ("package.json", b'{"envs": {}}'),
        ("notes.txt", b"storm"),
        ("a.py", b"import storm"),
    ],
)
def test_another_file_does_not_matter(path, data):
    assert not matters(path, data)


def texts(*paths: str) -> Texts:
    return Texts(dict.fromkeys(paths, b""))


def test_a_relative_name_is_looked_up_beside_the_file_and_beside_the_directories_above():
    found = texts("p/conf/a.yaml", "p/a.yaml", "a.yaml")
    assert found.from_directory("p/conf/t.flux", "a.yaml") == ("p/conf/a.yaml",)
    assert found.from_directory("p/x/t.flux", "a.yaml") == ("p/a.yaml",)
    assert found.from_directory("q/t.flux", "a.yaml") == ("a.yaml",)
    assert found.from_directory("p/conf/t.flux", "conf/a.yaml") == ("p/conf/a.yaml",)


def test_a_relative_name_elsewhere_counts_if_it_is_the_only_one():
    assert texts("p/flux/t.yaml", "p/conf/c.yaml").from_directory("p/flux/t.yaml", "c.yaml") == (
        "p/conf/c.yaml",
    )
    several = texts("p/flux/t.yaml", "p/conf/c.yaml", "q/c.yaml")
    assert several.from_directory("p/flux/t.yaml", "c.yaml") == ("p/conf/c.yaml", "q/c.yaml")


def test_a_class_path_resource_is_the_nearest_file_of_that_name():
    found = texts("core/src/main/resources/base.yaml", "app/src/main/resources/base.yaml", "app/t.flux")
    assert found.from_class_path("app/t.flux", "/base.yaml") == ("app/src/main/resources/base.yaml",)
    assert len(found.from_class_path("other/t.flux", "/base.yaml")) == 2
    assert found.from_class_path("app/t.flux", "/deep/base.yaml") == ()


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", "", "..", "/", "t.flux/../../x"])
def test_a_name_never_leaves_the_discovered_files(name):
    found = texts("p/t.flux", "p/x.yaml")
    assert found.from_directory("p/t.flux", name) == ()
    assert found.from_class_path("p/t.flux", name) == ()


def test_build_files_come_nearest_first():
    found = texts("a/b/pom.xml", "a/pom.xml", "pom.xml", "c/pom.xml")
    assert list(found.above("a/b/src/T.java", ("pom.xml",))) == ["a/b/pom.xml", "a/pom.xml", "pom.xml"]
    assert list(texts("/r/pom.xml").above("/r/a/T.java", ("pom.xml",))) == ["/r/pom.xml"]
