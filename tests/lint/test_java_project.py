"""Which Java files lint reads, and which of them it reads together."""

import pytest

from ackdoctor.dialects import load
from ackdoctor.lint.discover import LANGUAGES
from ackdoctor.lint.files import framework_names
from ackdoctor.lint.project import SHORT_RUN
from tests.lint.project import clusters_of, java, write

BASE = java("package lib;", "public abstract class Base<T> extends BaseRichBolt {}")


def own_files(root, *paths: str) -> list[list[str]]:
    """Return the own files of every cluster."""
    return [
        cluster.split(" <- ")[0].split()
        for cluster in clusters_of(root, *paths, language="java", by="display_path")
    ]


@pytest.fixture(params=[0, SHORT_RUN + 1], ids=["short run", "long run"])
def padding(request) -> dict[str, str]:
    """Results must not depend on how many other files there are."""
    return {
        f"pad/M{number}.java": f"package pad;\nclass M{number} extends Thing {{}}\n"
        for number in range(request.param)
    }


def test_a_tree_without_components_has_no_cluster(tmp_path, padding):
    write(tmp_path, {**padding, "A.java": "// a thunderstorm\nclass A extends B {}\n"})
    assert own_files(tmp_path) == []


def test_a_file_that_only_builds_a_topology_is_a_cluster(tmp_path, padding):
    main = "import org.apache.storm.topology.TopologyBuilder;\nclass Main { void f() { new TopologyBuilder(); } }\n"
    write(tmp_path, {**padding, "Main.java": main})
    assert own_files(tmp_path) == [["Main.java"]]


@pytest.mark.parametrize(
    ("package", "holds"),
    [
        ("org.apache.storm", True),
        ("com.digitalpebble.stormcrawler", False),
        ("org.apache.stormcrawler", False),
    ],
)
def test_the_package_of_a_library_on_top_of_storm_is_no_framework(package, holds):
    names = framework_names(load(), {}, LANGUAGES["java"])
    assert names.holds_modules(package) is holds


@pytest.mark.parametrize(
    "child",
    [
        "package app;\nimport lib.Base;\nclass Child extends Base {}\n",
        "package app;\nimport lib.Base;\nclass Child extends Base<Map<String, List<X>>> {}\n",
        "package app;\nimport lib.*;\nclass Child extends Base {}\n",
        "package app;\nclass Child extends lib.Base {}\n",
        "package app;\nimport lib.Base;\nclass Child<T extends Comparable<T>>\n    extends @NonNull Base<T> // why (not)\n    implements A, B\n{\n}\n",
        "package app;\nimport lib.Base;\nclass Child { static class Inner extends Base {} }\n",
        "package app;\nimport static lib.Base.*;\nimport lib.Base;\nenum E implements I { X }\nclass Child extends Base {}\n",
        "package lib;\nclass Child extends Base {}\n",
    ],
)
def test_a_subclass_that_names_no_framework_is_found_by_its_base(tmp_path, padding, child):
    write(tmp_path, {**padding, "src/lib/Base.java": BASE, "src/app/Child.java": child})
    assert own_files(tmp_path) == [["src/app/Child.java", "src/lib/Base.java"]]


def test_children_of_an_interface_and_grandchildren_are_found(tmp_path, padding):
    write(
        tmp_path,
        {
            **padding,
            "a/Acks.java": java("package a;", "public interface Acks extends IRichBolt {}"),
            "a/Mid.java": "package a;\npublic class Mid implements Serializable, Acks {}\n",
            "b/Leaf.java": "package b;\nimport a.Mid;\npublic class Leaf extends Mid {}\n",
        },
    )
    assert own_files(tmp_path) == [["a/Acks.java", "a/Mid.java", "b/Leaf.java"]]


def test_a_nested_class_is_a_base_by_either_of_its_names(tmp_path):
    outer = java("package a;", "public class Outer { public static class Inner extends BaseRichBolt {} }")
    one = "package b;\nimport a.Outer;\nclass One extends Outer.Inner {}\n"
    two = "package b;\nimport a.Outer.Inner;\nclass Two extends Inner {}\n"
    write(tmp_path, {"a/Outer.java": outer, "b/One.java": one, "b/Two.java": two})
    assert own_files(tmp_path) == [["a/Outer.java", "b/One.java", "b/Two.java"]]


def test_a_class_is_found_by_its_package_if_the_folders_differ(tmp_path):
    child = "package app;\nimport lib.Base;\nclass Child extends Base {}\n"
    write(
        tmp_path,
        {"flat/Base.java": BASE, "flat/Child.java": child, "x/Base.java": "package x;\nclass Base {}\n"},
    )
    assert own_files(tmp_path) == [["flat/Base.java", "flat/Child.java"]]


def test_an_import_leads_to_the_nearest_class_of_that_name(tmp_path):
    child = "package app;\nimport lib.Base;\nclass Child extends Base {}\n"
    write(
        tmp_path,
        {
            f"{p}/{name}": text
            for p in ("p", "q")
            for name, text in (("lib/Base.java", BASE), ("app/Child.java", child))
        },
    )
    assert own_files(tmp_path) == [
        ["p/app/Child.java", "p/lib/Base.java"],
        ["q/app/Child.java", "q/lib/Base.java"],
    ]


@pytest.mark.parametrize(
    "base",
    ["core/src/main/java/lib/Base.java", "app/src/main/java/lib/Base.java", "legacy/src/jvm/lib/Base.java"],
)
def test_a_base_outside_the_paths_is_found_in_the_same_build(tmp_path, base):
    child = "package app;\nimport lib.Base;\nclass Child extends Base {}\n"
    place = "app/src/test/java/app/Child.java"
    write(tmp_path, {base: BASE, place: child})
    assert clusters_of(tmp_path, place, language="java", by="display_path") == [f"{place} <- {base}"]


def test_a_framework_class_is_no_component(tmp_path):
    theirs = "package org.apache.storm.topology.base;\npublic class BaseRichBolt implements org.apache.storm.topology.IRichBolt {}\n"
    user = java("package user;", "class A extends BaseRichBolt {}")
    write(tmp_path, {"client/org/apache/storm/topology/base/BaseRichBolt.java": theirs, "user/A.java": user})
    assert own_files(tmp_path) == [["user/A.java"]]


def test_the_receivers_of_a_components_tuples_are_in_its_cluster(tmp_path, padding):
    uses = "import org.apache.storm.tuple.Tuple;"
    write(
        tmp_path,
        {
            **padding,
            "a/Bolt.java": java(
                "package a;", "class Bolt extends BaseRichBolt { Near n; far.Far f; Pojo p; }"
            ),
            "a/Near.java": f"package a;\n{uses}\nclass Near {{ Deep d; }}\n",
            "far/Far.java": f"package far;\n{uses}\npublic class Far {{}}\n",
            "a/Pojo.java": "package a;\nclass Pojo {}\n",
            "a/Deep.java": f"package a;\n{uses}\nclass Deep {{ void f() {{ c.ack(t); }} }}\n",
            "a/Stranger.java": f"package a;\n{uses}\nclass Stranger {{ void f() {{ c.ack(t); }} }}\n",
        },
    )
    assert clusters_of(tmp_path, language="java", by="display_path") == [
        "a/Bolt.java <- a/Deep.java <- a/Near.java"
    ]


def test_a_class_with_an_exception_handler_is_in_the_cluster_of_its_user(tmp_path, padding):
    handler = "void put() { try { t.put(); } catch (final SQLException e) { log(e); } }"
    store = f"package a;\nclass Store {{ Table t; {handler} }}\n"
    bolt = java("package a;", "class Bolt extends BaseRichBolt { Store store; }")
    write(
        tmp_path, {**padding, "a/Bolt.java": bolt, "a/Store.java": store, "a/Table.java": "class Table {}\n"}
    )
    assert clusters_of(tmp_path, language="java", by="display_path") == ["a/Bolt.java <- a/Store.java"]


def test_a_cycle_of_bases_ends(tmp_path, padding):
    write(
        tmp_path,
        {
            **padding,
            "a/A.java": "package a;\nclass A extends B {}\n",
            "a/B.java": "package a;\nclass B extends A {}\n",
        },
    )
    assert own_files(tmp_path) == []


def test_the_constants_and_components_of_a_topology_are_its_context(tmp_path):
    main = """package a;
import org.apache.storm.topology.TopologyBuilder;
import c.Names;
class Main { void f() { new TopologyBuilder().setSpout(Names.WORDS, new Words()); } }
"""
    write(
        tmp_path,
        {
            "a/Main.java": main,
            "c/Names.java": "package c;\npublic class Names { public static final String WORDS = Ids.WORDS; }\n",
            "c/Ids.java": 'package c;\nclass Ids { static final String WORDS = "words"; }\n',
            "a/Words.java": java("package a;", "class Words extends BaseRichSpout {}"),
        },
    )
    assert "a/Main.java <- a/Words.java <- c/Ids.java <- c/Names.java" in clusters_of(
        tmp_path, language="java", by="display_path"
    )
