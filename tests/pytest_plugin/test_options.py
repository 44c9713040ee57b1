"""Command line, ini file and `[tool.ackdoctor.pytest]`: each key is used, with this precedence."""

from pathlib import Path

import pytest

from ackdoctor.pytest_plugin.options import LEVELS, OPTIONS, read_options

pytest_plugins = ["pytester"]

WRITTEN = {  # key -> (text in an ini file, TOML, meaning)
    "level": ("sites", '"sites"', "sites"),
    "warn": ("true", "true", True),
    "allow": ("ACK103 missing-ack", '["ACK103", "missing-ack"]', ("ACK103", "missing-ack")),
    "max_pending": ("2", "2", 2),
    "complete_within": ("1.5", "1.5", 1.5),
    "profile": ("storm-1.1.0", '"storm-1.1.0"', "storm-1.1.0"),
    "trace_dir": ("traces", '"traces"', Path("traces")),
    "trace_keep": ("all", '"all"', "all"),
    "heap": ("true", "true", True),
    "baseline": ("known.json", '"known.json"', Path("known.json")),
}


def meant(pytester, *arguments):
    return read_options(pytester.parseconfig(*arguments))


def placed(pytester, value):
    return pytester.path / value if isinstance(value, Path) else value


def test_every_option_has_a_test():
    assert list(WRITTEN) == list(OPTIONS)


@pytest.mark.parametrize("key", OPTIONS)
def test_a_key_of_the_ini_file_is_used(pytester, key):
    text, _, value = WRITTEN[key]
    pytester.makeini(f"[pytest]\nackdoctor_{key} = {text}\n")
    assert getattr(meant(pytester), key) == placed(pytester, value)


@pytest.mark.parametrize("key", OPTIONS)
def test_a_key_of_our_table_is_used(pytester, key):
    _, text, value = WRITTEN[key]
    pytester.makepyprojecttoml(f"[tool.ackdoctor.pytest]\n{key.replace('_', '-')} = {text}\n")
    assert getattr(meant(pytester), key) == placed(pytester, value)


@pytest.mark.parametrize("key", OPTIONS)
def test_the_default_is_that_of_the_dataclass(pytester, key):
    assert getattr(meant(pytester), key) != placed(pytester, WRITTEN[key][2])


@pytest.mark.parametrize("level", LEVELS)
def test_the_flag_names_a_level(pytester, level):
    pytester.makeini("[pytest]\nackdoctor_level = sites\n")
    assert meant(pytester, f"--ackdoctor={level}").level == level


def test_a_bare_flag_means_sites_and_does_not_consume_the_path(pytester):
    pytester.mkdir("spam")
    config = pytester.parseconfig("--ackdoctor", "spam")
    assert read_options(config).level == "sites"
    assert config.args == ["spam"]


@pytest.mark.parametrize("level", ["site", "SITES", ""])
def test_an_unknown_level_names_the_levels(pytester, level):
    result = pytester.runpytest_inprocess(f"--ackdoctor={level}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*--ackdoctor={{off,sites,trace}}:*'{level}'"])


@pytest.mark.parametrize(
    ("flag", "key", "value"),
    [
        ("--ackdoctor-warn", "warn", True),
        ("--ackdoctor-trace-dir=here", "trace_dir", Path("here")),
        ("--ackdoctor-trace-keep=all", "trace_keep", "all"),
        ("--ackdoctor-heap", "heap", True),
        ("--ackdoctor-baseline=here.json", "baseline", Path("here.json")),
    ],
)
def test_the_command_line_wins_over_the_ini_file_and_the_ini_file_over_our_table(pytester, flag, key, value):
    other = {
        "warn": ("false", "false"),
        "heap": ("false", "false"),
        "trace_keep": ("failing", '"failing"'),
    }.get(key, ("x", '"y"'))
    pytester.makeini(f"[pytest]\nackdoctor_{key} = {other[0]}\n")
    pytester.path.joinpath("ackdoctor.toml").write_text(f"[pytest]\n{key.replace('_', '-')} = {other[1]}\n")
    assert getattr(meant(pytester, flag), key) == placed(pytester, value)
    assert getattr(meant(pytester), key) in {placed(pytester, Path("x")), False, "failing"}


@pytest.mark.parametrize(
    ("ini", "complaint"),
    [
        ("ackdoctor_level = loud", "ackdoctor_level: must be one of off, sites, trace, not 'loud'"),
        ("ackdoctor_max_pending = 1.5", "ackdoctor_max_pending: must be a whole number, not '1.5'"),
        ("ackdoctor_max_pending = many", "ackdoctor_max_pending: must be a number from 0, not 'many'"),
        ("ackdoctor_complete_within = -1", "ackdoctor_complete_within: must be a number from 0, not '-1'"),
        ("ackdoctor_complete_within = nan", "ackdoctor_complete_within: must be a number from 0, not 'nan'"),
        ("ackdoctor_trace_keep = some", "ackdoctor_trace_keep: must be failing or all, not 'some'"),
        ("ackdoctor_profile = storm-7", "ackdoctor_profile: unknown acker version 'storm-7'; known are"),
    ],
)
def test_an_invalid_value_ends_the_run_in_one_line(pytester, ini, complaint):
    pytester.makeini(f"[pytest]\n{ini}\n")
    result = pytester.runpytest_inprocess()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert result.stderr.lines[0].startswith(f"ERROR: {complaint}")
    assert "Traceback" not in result.stderr.str()


@pytest.mark.parametrize(
    ("toml", "complaint"),
    [
        ("warn = 1", "[tool.ackdoctor.pytest] warn: must be true or false, not 1"),
        (
            'allow = "ACK103"',
            "[tool.ackdoctor.pytest] allow: must list codes or names of rules, not 'ACK103'",
        ),
        (
            'allow = ["missing-akc"]',
            "[tool.ackdoctor.pytest] allow: no rule is called `missing-akc`; did you mean `missing-ack`?",
        ),
        ("max-pending = true", "[tool.ackdoctor.pytest] max-pending: must be a number from 0, not True"),
        ("trace-dir = 3", "[tool.ackdoctor.pytest] trace-dir: must be a path, not 3"),
        ("loud = 3", "[tool.ackdoctor.pytest]: unknown key `loud`"),
    ],
)
def test_our_table_is_checked_as_strictly(pytester, toml, complaint):
    pytester.makepyprojecttoml(f"[tool.ackdoctor.pytest]\n{toml}\n")
    result = pytester.runpytest_inprocess()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert result.stderr.lines[0] == f"ERROR: {complaint}"


def test_the_table_may_be_in_our_own_file(pytester):
    pytester.path.joinpath("ackdoctor.toml").write_text("[pytest]\nmax-pending = 3\n")
    assert meant(pytester).max_pending == 3


def test_a_broken_settings_file_is_named(pytester):
    pytester.makepyprojecttoml("[tool.ackdoctor]\nselekt = []\n")
    result = pytester.runpytest_inprocess()
    assert result.stderr.lines[0].endswith("pyproject.toml:2: unknown key `selekt`; did you mean `select`?")


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--ackdoctor-warn"], ["no test was traced: --ackdoctor-warn without --ackdoctor"]),
        (
            ["--ackdoctor-baseline=new.json", "--ackdoctor-write-baseline"],
            ["no test was traced: --ackdoctor-baseline, --ackdoctor-write-baseline without --ackdoctor"],
        ),
        (["--ackdoctor=off", "--ackdoctor-warn"], []),
        ([], []),
    ],
)
def test_an_option_without_effect_is_reported(pytester, flags, message):
    pytester.makeini("[pytest]\nackdoctor_warn = true\n")  # traces no test by itself
    pytester.makepyfile("def test_plain(): pass")
    result = pytester.runpytest_inprocess(*flags)
    assert [line for line in result.outlines if line.startswith("no test was traced")] == message


def test_without_options_the_tracer_is_not_imported(pytester):
    pytester.makepyfile("def test_pass(): pass")
    listing = "import sys; print(sorted(m for m in sys.modules if m.startswith('ackdoctor')))"
    pytester.makeconftest(f"def pytest_unconfigure():\n    {listing}\n")
    result = pytester.runpytest_subprocess("-q")
    ours = ["", ".pytest_plugin", ".pytest_plugin.options"]
    result.stdout.fnmatch_lines([str([f"ackdoctor{name}" for name in ours]).replace("[", "[[]")])
