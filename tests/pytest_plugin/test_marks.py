"""`@pytest.mark.ackdoctor(...)`: the tests that it traces, its keywords, and its errors."""

import pytest

from ackdoctor.pytest_plugin.options import Options, options_of_test

pytest_plugins = ["pytester"]

KEYWORDS = ("level", "allow", "max_pending", "complete_within", "profile", "heap")


def wanted(pytester, source, session=None):
    (item,) = pytester.getitems(source)
    return options_of_test(item, session or Options())


def test_an_unmarked_test_is_not_traced(pytester):
    assert wanted(pytester, "def test(): pass") is None


def test_a_session_option_traces_every_test(pytester):
    session = Options(level="trace", max_pending=3)
    assert wanted(pytester, "def test(): pass", session) is session


def test_a_mark_alone_means_level_sites(pytester):
    source = """
        import pytest
        @pytest.mark.ackdoctor
        def test(): pass
    """
    assert wanted(pytester, source) == Options(level="sites")


def test_the_fixture_alone_means_level_sites(pytester):
    assert wanted(pytester, "def test(ackdoctor): pass") == Options(level="sites")


def test_a_mark_keeps_the_level_of_the_session(pytester):
    source = """
        import pytest
        @pytest.mark.ackdoctor(max_pending=1)
        def test(): pass
    """
    assert wanted(pytester, source, Options(level="trace")) == Options(level="trace", max_pending=1)


def test_the_nearest_mark_wins_keyword_by_keyword(pytester):
    source = """
        import pytest
        pytestmark = pytest.mark.ackdoctor(max_pending=9, profile="storm-1.1.0", complete_within=5)

        @pytest.mark.ackdoctor(max_pending=5, level="trace")
        class TestSplit:
            @pytest.mark.ackdoctor(max_pending=0, allow=("ACK103",))
            def test(self): pass
    """
    assert wanted(pytester, source) == Options(
        level="trace", max_pending=0, profile="storm-1.1.0", complete_within=5, allow=("ACK103",)
    )


def test_a_mark_can_exclude_a_test(pytester):
    source = """
        import pytest
        @pytest.mark.ackdoctor(level="off")
        def test(): pass
    """
    assert wanted(pytester, source, Options(level="sites")) is None


def test_a_parameter_set_carries_its_own_mark(pytester):
    source = """
        import pytest
        @pytest.mark.parametrize("n", [1, pytest.param(2, marks=pytest.mark.ackdoctor(max_pending=2))])
        def test(n): pass
    """
    first, second = pytester.getitems(source)
    assert options_of_test(first, Options()) is None
    assert options_of_test(second, Options()) == Options(level="sites", max_pending=2)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ("max_pendign=1", "unknown keyword `max_pendign`; it takes level, allow, max_pending, complete_within, profile, heap"),
        ("'sites'", "takes keywords only: level, allow, max_pending, complete_within, profile, heap"),
        ("max_pending=-1", "max_pending: must be a number from 0, not -1"),
        ("allow='ACK103'", "allow: must list codes or names of rules, not 'ACK103'"),
        ("allow=['ACK999']", "allow: no rule is called `ACK999`"),
        ("level='loud'", "level: must be one of off, sites, trace, not 'loud'"),
        ("level=None", "level: must be one of off, sites, trace, not None"),
        ("profile='storm-7'", "profile: unknown acker version 'storm-7'"),
        ("profile=2.1", "profile: must be the name of a version, such as storm-1.1.0, not 2.1"),
        ("complete_within='soon'", "complete_within: must be a number from 0, not 'soon'"),
        ("warn=True", "unknown keyword `warn`"),
    ],
)  # fmt: skip
def test_an_invalid_mark_ends_the_collection(pytester, arguments, complaint):
    pytester.makepyfile(
        f"""
        import pytest
        @pytest.mark.ackdoctor({arguments})
        def test(): pass
        """
    )
    result = pytester.runpytest_inprocess()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    module = "test_an_invalid_mark_ends_the_collection.py"
    assert result.errlines[0].startswith(f"ERROR: {module}::test: @pytest.mark.ackdoctor: {complaint}")


def test_an_invalid_mark_fails_its_test_under_xdist(pytester):
    pytester.makepyfile("import pytest\n@pytest.mark.ackdoctor(7)\ndef test(): pass\ndef test_other(): pass")
    result = pytester.runpytest_subprocess("-n2")
    result.assert_outcomes(passed=1, errors=1)
    assert "test_under_xdist" in (line := next(line for line in result.outlines if "takes keywords" in line))
    assert line.endswith("::test: @pytest.mark.ackdoctor: takes keywords only: " + ", ".join(KEYWORDS))


def test_the_mark_is_known_to_strict_markers_and_listed(pytester):
    pytester.makepyfile("import pytest\n@pytest.mark.ackdoctor\ndef test(): pass")
    result = pytester.runpytest_inprocess("--strict-markers", "--markers")
    assert (
        "@pytest.mark.ackdoctor(level=, allow=, max_pending=, complete_within=, profile=, heap=): "
        "trace this test's components" in result.outlines
    )
