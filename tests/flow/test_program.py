"""Linking: names across files, components and their switches."""

import pytest

from tests.flow.programs import component, link

BOLT = """
class Count({base}):
    auto_ack = False

    def process(self, tup):
        self.ack(tup)
"""


def names(files):
    return [(each.name, each.dialect.name, each.role.name) for each in link(files).components]


@pytest.mark.parametrize(
    ("imports", "base"),
    [
        ("from streamparse import Bolt", "Bolt"),
        ("from streamparse import Bolt as B", "B"),
        ("import streamparse", "streamparse.Bolt"),
        ("import streamparse as sp", "sp.Bolt"),
        ("import streamparse.bolt", "streamparse.bolt.Bolt"),
        ("from streamparse.bolt import Bolt", "Bolt"),
        ("from streamparse import *", "Bolt"),
        ("from streamparse import Bolt\nBase = Bolt", "Base"),
        (
            "try:\n    from streamparse import Bolt\nexcept ImportError:\n    from streamparse.bolt import Bolt",
            "Bolt",
        ),
        ("try:\n    from fast import Bolt\nexcept ImportError:\n    from streamparse import Bolt", "Bolt"),
    ],
)
def test_a_framework_class_is_found_through_any_import(imports, base):
    assert names({"bolts.py": f"{imports}\n{BOLT.format(base=base)}"}) == [("Count", "streamparse", "Bolt")]


@pytest.mark.parametrize(
    ("imports", "base"),
    [
        ("from elsewhere import Bolt", "Bolt"),
        ("class Bolt:\n    pass", "Bolt"),
        ("import streamparse", "Bolt"),
        ("from streamparse import Topology", "Topology"),
    ],
)
def test_another_class_of_the_same_name_is_not_a_component(imports, base):
    assert names({"bolts.py": f"{imports}\n{BOLT.format(base=base)}"}) == []


def test_a_base_class_is_found_through_re_exports_and_stars():
    files = {
        "acking/__init__.py": "from .core import *\n",
        "acking/core.py": "from acking.manual import Manual as ManualBolt\n",
        "acking/manual.py": "from streamparse import Bolt\n\nclass Manual(Bolt):\n    auto_ack = False\n",
        "count.py": "import acking\n\nclass Count(acking.ManualBolt):\n    def process(self, tup):\n        pass\n",
    }

    count = component(files, "Count")

    assert [cls.name for cls in count.lineage] == ["Count", "Manual"]
    assert count.auto_ack is False
    assert count.auto_fail is True


@pytest.mark.parametrize(
    "imports",
    ["from .base import Base", "from ..bolts.base import Base", "from . import base\nBase = base.Base"],
)
def test_relative_imports_start_from_the_file(imports):
    files = {
        "app/bolts/base.py": "from pystorm import Bolt\n\nclass Base(Bolt):\n    auto_ack = False\n",
        "app/bolts/count.py": f"{imports}\n{BOLT.format(base='Base')}",
    }

    assert ("Count", "pystorm", "Bolt") in names(files)


def test_the_nearest_module_wins():
    base = "from streamparse import Bolt\n\nclass Base(Bolt):\n    auto_ack = {value}\n"
    files = {
        "one/src/base.py": base.format(value="False"),
        "two/src/base.py": base.format(value="True"),
        "one/src/bolts.py": "from base import Base\n\nclass One(Base):\n    def process(self, tup):\n        pass\n",
        "two/src/bolts.py": "from base import Base\n\nclass Two(Base):\n    def process(self, tup):\n        pass\n",
    }

    assert component(files, "One").auto_ack is False
    assert component(files, "Two").auto_ack is True


def test_a_source_directory_is_not_part_of_the_module_name():
    files = {
        "src/bolts/base.py": "from streamparse import Bolt\n\nclass Base(Bolt):\n    auto_ack = False\n",
        "src/bolts/count.py": f"from bolts.base import Base\n{BOLT.format(base='Base')}",
    }

    assert ("Count", "streamparse", "Bolt") in names(files)


def test_a_cycle_of_bases_ends():
    files = {
        "a.py": "from b import B\nfrom streamparse import Bolt\n\nclass A(B, Bolt):\n    pass\n",
        "b.py": "from a import A\n\nclass B(A):\n    pass\n",
    }

    assert ("A", "streamparse", "Bolt") in names(files)


def test_a_class_that_is_its_own_base_ends():
    assert names({"a.py": "class A(A):\n    pass\n"}) == []


def test_circular_imports_end():
    files = {
        "a.py": "from b import Base\n",
        "b.py": "from a import Base\n",
        "count.py": f"from a import Base\n{BOLT.format(base='Base')}",
    }

    assert names(files) == []


@pytest.mark.parametrize(("bases", "auto_ack"), [("Manual, Bolt", False), ("Bolt, Manual", True)])
def test_a_mixin_sets_a_switch_only_before_the_framework_class(bases, auto_ack):
    source = f"""
        from streamparse import Bolt

        class Manual:
            auto_ack = False

        class Count({bases}):
            def process(self, tup):
                pass
        """

    assert component({"count.py": source}, "Count").auto_ack is auto_ack


@pytest.mark.parametrize(
    ("place", "code"),
    [
        ("from outside", "Count.auto_ack = False"),
        ("in __init__", "    def __init__(self):\n        self.auto_ack = False"),
        ("in initialize", "    def initialize(self, conf, ctx):\n        self.auto_ack = False"),
        ("in the class", "    auto_ack = False"),
        ("as a number", "    auto_ack = 0"),
    ],
)
def test_auto_ack_may_be_switched_off(place, code):
    source = f"from streamparse import Bolt\n\nclass Count(Bolt):\n    def process(self, tup):\n        pass\n\n{code}\n"

    assert component({"count.py": source}, "Count").auto_ack is False, place


def test_auto_ack_may_be_switched_off_in_another_file():
    files = {
        "count.py": "from streamparse import Bolt\n\nclass Count(Bolt):\n    def process(self, tup):\n        pass\n",
        "main.py": "from count import Count\n\nCount.auto_ack = False\n",
    }

    assert component(files, "Count").auto_ack is False


def test_a_computed_switch_is_unknown():
    source = """
        from streamparse import Bolt

        class Count(Bolt):
            def initialize(self, conf, ctx):
                self.auto_ack = conf["auto_ack"]
        """

    assert component({"count.py": source}, "Count").auto_ack is None


def test_an_unresolved_base_makes_a_component_opaque():
    source = """
        from elsewhere import Mixin
        from streamparse import Bolt

        class Count(Mixin, Bolt):
            pass
        """

    assert component({"count.py": source}, "Count").opaque


def test_extra_bases_map_an_unknown_base():
    files = {"count.py": f"from house.bolts import HouseBolt\n{BOLT.format(base='HouseBolt')}"}

    assert link(files).components == ()
    hinted = link(files, extra_bases={"house.bolts.HouseBolt": "streamparse.Bolt"})
    assert [each.name for each in hinted.components] == ["Count"]
