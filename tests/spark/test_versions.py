"""The replay on Spark rotates as the model of the acker does, each by its own code from the same facts."""

import pytest

from ackdoctor.acker.versions import profile
from ackdoctor.model import ConfigError
from ackdoctor.model.acker import RELEASES

pytest.importorskip("pyspark")

from ackdoctor.spark.replay import acker_version, schedule_ms

NAMES = sorted(
    {f"{release.family}-{number}" for release in RELEASES for number in (release.first, release.last)}
    | {"2.8", "1.2", "0.9.7", "v1.1.0", "jstorm", "heron", "storm", "1.2-no-timeouts", "2.8.8-no-timeouts"}
)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("timeout_s", [10, 30, 100])
def test_spark_rotates_when_the_model_does(name, timeout_s):
    ours, theirs = acker_version(name), profile(name)
    assert (ours.name, ours.acker_rules) == (theirs.name, theirs.acker_rules)
    schedule = theirs.acker_schedule(timeout_s)
    expected = tuple(schedule) if schedule else None
    if name.startswith("jstorm"):  # by itself, after half the timeout
        expected = (timeout_s * 500, timeout_s * 500)
    assert schedule_ms(ours, timeout_s) == expected


def test_a_series_is_one_version_if_its_ackers_behave_alike():
    assert acker_version("2").name == "storm-2"  # its spouts changed with 2.8


@pytest.mark.parametrize("name", ["1.1", "0.7", "3.0", "", "jstorm-no-timeouts", "kafka"])
def test_an_unknown_or_ambiguous_version_is_refused_by_both(name):
    for read in (acker_version, profile):
        with pytest.raises(ConfigError):
            read(name)
