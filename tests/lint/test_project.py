"""Which files lint reads, and which of them it reads together."""

import pytest

from ackdoctor.config import Settings
from ackdoctor.lint.project import HELPER_SIZE, SHORT_RUN
from tests.lint.project import BOLT, clusters_of, write

BASE = "from streamparse import Bolt\nclass Base(Bolt):\n    auto_ack = False\n"


def unrelated(count: int) -> dict[str, str]:
    return {f"pad/m{number}.py": "import os\nclass Thing(dict):\n    pass\n" for number in range(count)}


@pytest.fixture(params=[0, SHORT_RUN + 1], ids=["short run", "long run"])
def padding(request) -> dict[str, str]:
    """Results must not depend on how many other files there are."""
    return unrelated(request.param)


def test_a_tree_without_components_has_no_cluster(tmp_path, padding):
    write(tmp_path, {**padding, "a.py": "import os\n# a thunderstorm\nclass A(B):\n    pass\n"})
    assert clusters_of(tmp_path) == []


def test_a_file_that_imports_a_framework_is_a_cluster(tmp_path, padding):
    write(tmp_path, {**padding, "a.py": BOLT, "b.py": "import json\n"})
    assert clusters_of(tmp_path) == ["a"]


@pytest.mark.parametrize(
    "child",
    [
        "from base import Base\nclass B(Base):\n    pass\n",
        "from base import Base as Other\nclass B(Other):\n    pass\n",
        "import base\nclass B(base.Base):\n    pass\n",
        "import base as b\nclass B(b.Base):\n    pass\n",
        "from base import *\nclass B(Base):\n    pass\n",
        "from .base import Base\nclass B(Base):\n    pass\n",
        "from . import base\nclass B(base.Base):\n    pass\n",
        "from base import (  # the (old) one\n    Base,\n)\nclass B(  # noqa\n    object, Base,\n):\n    pass\n",
        "try:\n    from base import Base\nexcept ImportError:\n    Base = object\nclass B(Base):\n    pass\n",
        "from base import \\\n    Base\nclass B(Base): pass\n",
        "import os; from base import Base\nclass B(Base): pass\n",
    ],
)
def test_a_subclass_that_names_no_framework_is_found_by_its_base(tmp_path, padding, child):
    write(tmp_path, {**padding, "base.py": BASE, "child.py": child})
    assert clusters_of(tmp_path) == ["base child"]


def test_a_bolt_after_a_byte_order_mark_is_found(tmp_path, padding):
    write(tmp_path, {**padding, "a.py": b"\xef\xbb\xbf" + BOLT.encode()})
    assert clusters_of(tmp_path) == ["a"]


def test_grandchildren_are_found_through_reexports_and_star_imports(tmp_path, padding):
    write(
        tmp_path,
        {
            **padding,
            "lib/__init__.py": "from .core import *\n",
            "lib/core.py": "from .deep import Base\n",
            "lib/deep.py": BASE,
            "app/mid.py": "from lib import Base\nclass Mid(Base):\n    pass\n",
            "app/leaf.py": "from .mid import Mid\nclass Leaf(Mid):\n    pass\n",
        },
    )
    assert clusters_of(tmp_path) == ["app.leaf app.mid lib.deep <- lib <- lib.core"]


def test_a_framework_class_is_known_through_a_reexport(tmp_path, padding):
    write(
        tmp_path,
        {
            **padding,
            "compat.py": "from pystorm import Bolt\n",
            "a.py": "from compat import Bolt\nclass A(Bolt):\n    pass\n",
        },
    )
    assert clusters_of(tmp_path) == ["a <- compat", "compat"]


def test_a_base_outside_the_paths_is_found_on_disk(tmp_path):
    write(
        tmp_path,
        {
            "src/lib/base.py": BASE,
            "src/app/leaf.py": "from lib.base import Base\nclass Leaf(Base):\n    pass\n",
        },
    )
    assert clusters_of(tmp_path, "src/app/leaf.py") == ["src.app.leaf <- src.lib.base"]


def test_an_import_leads_to_the_nearest_module_of_that_name(tmp_path):
    child = "from base import Base\nclass Leaf(Base):\n    pass\n"
    write(tmp_path, {"one/base.py": BASE, "one/leaf.py": child, "two/base.py": BASE, "two/leaf.py": child})
    assert clusters_of(tmp_path) == ["one.base one.leaf", "two.base two.leaf"]


def test_a_module_of_the_project_does_not_hide_the_standard_library(tmp_path):
    write(
        tmp_path,
        {"bolts/a.py": "import queue\nimport helper\n" + BOLT, "lib/queue.py": "", "lib/helper.py": ""},
    )
    assert clusters_of(tmp_path) == ["bolts.a <- lib.helper"]


def test_helpers_and_mixins_of_a_component_are_in_its_cluster(tmp_path, padding):
    write(
        tmp_path,
        {
            **padding,
            "a.py": "from mixin import Acks\nimport tools.check\n" + BOLT.replace("(Bolt)", "(Acks, Bolt)"),
            "mixin.py": "class Acks(object):\n    def done(self, tup):\n        self.ack(tup)\n",
            "tools/check.py": "from tools import deep, idle\n",
            "tools/deep.py": "def finish(bolt, tup):\n    bolt.ack(tup)\n",
            "tools/idle.py": "def nothing():\n    pass\n",
            "stranger.py": "def ack():\n    pass\n",
        },
    )
    assert clusters_of(tmp_path) == ["a <- mixin <- tools.check <- tools.deep"]


def test_a_store_that_may_hide_a_failure_is_in_the_cluster_with_the_service_before_it(tmp_path):
    write(
        tmp_path,
        {
            "a.py": "import service\n" + BOLT,
            "service.py": "import store, words\n",
            "store.py": "import deeper\ntry:\n    pass\nexcept Exception:\n    pass\n",
            "words.py": "try:\n    pass\nexcept ValueError:\n    pass\n",
            "deeper.py": "try:\n    pass\nexcept Exception:\n    pass\n",
        },
    )
    assert clusters_of(tmp_path) == ["a <- service <- store"]


def test_a_shared_helper_does_not_join_clusters(tmp_path):
    write(tmp_path, {"a.py": "import tool\n" + BOLT, "b.py": "import tool\n" + BOLT, "tool.py": ""})
    assert clusters_of(tmp_path) == ["a <- tool", "b <- tool"]


def test_a_helper_that_is_a_table_is_left_out(tmp_path):
    write(tmp_path, {"a.py": "import table\n" + BOLT, "table.py": "X = 1\n" * (HELPER_SIZE // 6 + 1)})
    assert clusters_of(tmp_path) == ["a"]


def test_a_vendored_framework_is_no_component(tmp_path):
    storm = "class Bolt(object):\n    pass\n\n\nclass BasicBolt(object):\n    pass\n"
    user = "import storm\nclass B(storm.BasicBolt):\n    pass\n"
    write(tmp_path, {"multilang/resources/storm.py": storm, "multilang/resources/bolt.py": user})
    assert clusters_of(tmp_path) == ["multilang.resources.bolt"]


def test_a_framework_that_builds_on_another_is_no_component(tmp_path):
    write(
        tmp_path,
        {
            "site/streamparse/storm/bolt.py": "from pystorm import bolt\nclass Bolt(bolt.Bolt):\n    pass\n",
            "site/streamparse/examples.py": "from .storm.bolt import Bolt\nclass Echo(Bolt):\n    pass\n",
            "site/pystorm/bolt.py": "class Bolt(Component):\n    pass\nclass BatchingBolt(Bolt):\n    pass\n",
        },
    )
    assert clusters_of(tmp_path) == ["site.streamparse.examples <- site.streamparse.storm.bolt"]


def test_a_frameworks_own_code_is_no_helper(tmp_path):
    user = (
        "from heronpy.api.bolt.bolt import Bolt\nfrom heronpy.api import stream\nclass B(Bolt):\n    pass\n"
    )
    write(tmp_path, {"user.py": user, "heronpy/api/stream.py": "def emit():\n    pass\n"})
    assert clusters_of(tmp_path) == ["user"]


def test_an_extra_base_makes_its_children_components(tmp_path, padding):
    write(tmp_path, {**padding, "a.py": "from corp.bolts import Special\nclass A(Special):\n    pass\n"})
    settings = Settings(extra_bases={"corp.bolts.Special": "streamparse.Bolt"})
    assert clusters_of(tmp_path) == []
    assert clusters_of(tmp_path, settings=settings) == ["a"]


def test_a_cycle_of_bases_and_a_module_that_imports_itself_end(tmp_path, padding):
    write(
        tmp_path,
        {
            **padding,
            "a.py": "import storm\nfrom b import B\nclass A(B):\n    pass\n",
            "b.py": "import storm\nfrom a import A\nclass B(A):\n    pass\n",
            "c.py": "import c\nfrom c import C\n" + BOLT + "class C(c.C):\n    pass\n",
        },
    )
    assert clusters_of(tmp_path) == ["a", "b", "c"]


def test_a_program_that_uses_the_projects_own_code_to_wire_is_analysed_with_it(tmp_path):
    wires = "package demo;\nimport org.apache.storm.topology.TopologyBuilder;\nclass Runner { TopologyBuilder b; }\n"
    program = "package demo;\nclass Main { public static void main(String[] args) { new Runner().run(); } }\n"
    other = "package demo;\nclass Other { public static void main(String[] args) { new Absent().run(); } }\n"
    files = {"demo/Runner.java": wires, "demo/Main.java": program, "demo/Other.java": other}
    write(tmp_path, files)
    found = clusters_of(tmp_path, language="java", by="display_path")
    assert found == ["demo/Main.java <- demo/Runner.java", "demo/Runner.java"]
