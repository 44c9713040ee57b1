"""The settings that the class of a component makes itself."""

import pytest

from ackdoctor.model.topology import Gap
from tests.topology.component_sources import java_facts, python_facts

TICKS = "topology.tick.tuple.freq.secs"
_JAVA = """
class Base extends BaseRichBolt {
  public Map<String, Object> getComponentConfiguration() {
    Config conf = new Config(); conf.put(Config.TOPOLOGY_TICK_TUPLE_FREQ_SECS, 5); return conf;
  }
}
public class Made extends BASE {
  int secs;
  final Map<String, Object> kept = Ticks.of(5);
  public void execute(Tuple input) { }
  public Map<String, Object> getComponentConfiguration() {
    BODY
  }
}
"""
_PYTHON = """
from heronpy.api.bolt.bolt import Bolt
from settings import ticks

class Count(Bolt):
    config = CONFIG

    def process(self, tup):
        pass
"""


def java(body: str, base: str = "BaseRichBolt") -> list[tuple[str, object]]:
    found = java_facts(_JAVA.replace("BODY", body).replace("BASE", base)).settings
    return [(each.key, "open" if isinstance(each.value, Gap) else each.value) for each in found]


def test_settings_have_their_lines():
    body = "Config conf = new Config();\nconf.put(Config.TOPOLOGY_TICK_TUPLE_FREQ_SECS, 10);\nreturn conf;"
    [tick] = java_facts(_JAVA.replace("BODY", body).replace("BASE", "BaseRichBolt")).settings
    assert (tick.key, tick.value, tick.place.line) == (TICKS, 10, 12)


@pytest.mark.parametrize(
    ("body", "base", "value"),
    [
        ("return Map.of(TICKS, 5);", "BaseRichBolt", 5),
        ("return Collections.singletonMap(Config.TOPOLOGY_TICK_TUPLE_FREQ_SECS, 7);", "BaseRichBolt", 7),
        ("return TupleUtils.putTickFrequencyIntoComponentConfig(null, 3);", "BaseRichBolt", 3),
        ("return super.getComponentConfiguration();", "Base", 5),
    ],
)
def test_maps_that_the_method_returns(body, base, value):
    assert java(body.replace("TICKS", f'"{TICKS}"'), base) == [(TICKS, value)]


@pytest.mark.parametrize(
    "body",
    [
        "return Ticks.every(secs);",
        "return kept;",
        "Map<String, Object> conf = new HashMap<>(); Ticks.fill(conf); return conf;",
        "return new HashMap<String, Object>() {{ put(Config.TOPOLOGY_TICK_TUPLE_FREQ_SECS, 5); }};",
    ],
)
def test_a_map_that_other_code_fills_may_turn_ticks_on(body):
    assert (TICKS, "open") in java(body)


@pytest.mark.parametrize("body", ["return null;", "return new HashMap<>();"])
def test_an_empty_map_turns_nothing_on(body):
    assert java(body) == []


@pytest.mark.parametrize(
    ("config", "value"),
    [(f"{{'{TICKS}': 5}}", 5), ("ticks(5)", "open"), ("{ticks.KEY: 5}", "open"), ("{}", None)],
)
def test_the_settings_of_a_class_attribute(config, value):
    found = {each.key: each for each in python_facts(_PYTHON.replace("CONFIG", config)).settings}
    known = found.get(TICKS)
    assert (known and ("open" if isinstance(known.value, Gap) else known.value)) == value
    assert known is None or known.place.line == 5
