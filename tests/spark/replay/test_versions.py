"""What Spark knows of each version is what the model of the acker knows: written down twice, held together here."""

import pytest

from ackdoctor.acker.versions import PROFILES, profile
from ackdoctor.model.errors import ConfigError
from ackdoctor.spark.replay.versions import version

NAMES = sorted(
    {f"{release.family}-{number}" for release in PROFILES for number in (release.first, release.last)}
    | {"2.8", "1.2", "0.9.7", "v1.1.0", "jstorm", "heron", "storm", "1.2-no-timeouts", "2.8.8-no-timeouts"}
)


@pytest.mark.parametrize("name", NAMES)
def test_a_version_is_the_profile_of_that_name(name):
    ours, theirs = version(name), profile(name)
    assert (ours.name, ours.engine, ours.buckets, ours.resets) == (
        theirs.name,
        theirs.engine,
        theirs.acker_buckets,
        theirs.resets,
    )


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("timeout_s", [10, 30, 100])
def test_a_version_rotates_when_the_profile_does(name, timeout_s):
    schedule = profile(name).acker_schedule(timeout_s)
    theirs = tuple(schedule) if schedule else None
    if name.startswith("jstorm"):  # by itself, after half the timeout
        theirs = (timeout_s * 500, timeout_s * 500)
    assert version(name).schedule_ms(timeout_s) == theirs


@pytest.mark.parametrize("name", ["1.1", "0.7", "3.0", "", "jstorm-no-timeouts", "kafka"])
def test_what_nobody_has_read_is_refused_by_both(name):
    for read in (version, profile):
        with pytest.raises(ConfigError):
            read(name)
