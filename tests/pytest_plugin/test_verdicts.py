"""A violation fails its test, with one line and the finding as lint shows it."""

import json

import pytest

from tests.pytest_plugin.inner import finding, letters, section, shorts, write

pytest_plugins = ["pytester"]

DOUBLE = "ACK103 double-ack bolts.py:26 the tuple is acked a second time"


# ---- passing and failing ----


def test_a_clean_test_passes(run):
    result = run("def test_healthy(): drive(Healthy)")
    result.assert_outcomes(passed=1)
    assert section(result) == ["1 test: every tuple completed exactly once"]


def test_a_double_ack_fails_the_test_with_the_lines_of_both(run):
    result = run("def test_twice(): drive(Twice)")
    result.assert_outcomes(failed=1)
    assert finding(result, "test_twice") == [
        "bolts.py:26:9  error ACK103 double-ack  the tuple is acked a second time: ShellBolt answers "
        '"Acked a non-existent or already acked/failed id" and the worker exits',
        "      |                                         tuple",
        "   24 | def process(self, tup):  ╭ received     owed",
        "   25 |     self.ack(tup)        ├ acked        acked",
        "   26 |     self.ack(tup)        ╰ acked again  acked",
        "      |     ^^^^^^^^^^^^^",
        "      = seen: delivery 1 in test_bolts.py::test_twice",
        "      = help: return after the first ack (line 25), or ack the tuple in one place only · ackdoctor explain ACK103",
    ]
    assert section(result) == [
        "test                       delivered  emitted    ack   fail  pending  findings",
        "test_bolts.py::test_twice          1        0      2      0        0  ACK103",
        "1 test                             1        0      2      0        0",
        "1 of 1 test broke the protocol: ACK103 · ackdoctor explain ACK103",
    ]
    assert letters(result) == "A"
    assert shorts(result) == ["ACK test_bolts.py::test_twice"]


def test_tuples_left_open_fail_the_test(run):
    result = run("def test_forgets(): drive(Forgets, 3)")
    result.assert_outcomes(failed=1)
    assert finding(result, "test_forgets")[0].startswith(
        "bolts.py:17:5  error ACK101 missing-ack  the tuple "
    )
    assert section(result)[1].split()[1:] == ["3", "3", "0", "0", "3", "ACK101", "x3"]


def test_the_frameworks_own_acks_are_distinguished(run):
    result = run("def test_both(): drive(ByHandToo)")
    assert "ACK105 ack-with-auto-ack" in finding(result, "test_both")[0]


def test_the_tests_own_failure_comes_first_and_the_finding_below(run):
    result = run("""
        def test_both():
            drive(Twice)
            assert 1 == 2
    """)
    result.assert_outcomes(failed=1)
    assert shorts(result) == ["FAILED test_bolts.py::test_both"]
    assert "ACK103 double-ack" in finding(result, "test_both")[0]
    lines = result.outlines
    assert lines.index("E       assert 1 == 2") < next(n for n, x in enumerate(lines) if "error ACK103" in x)


def test_a_failing_setup_stays_first_too(run):
    result = run("""
        @pytest.fixture
        def fed():
            drive(Twice)
            raise OSError("no database")
        def test_never_runs(fed): pass
    """)
    result.assert_outcomes(errors=1)
    assert shorts(result) == ["ERROR test_bolts.py::test_never_runs"]
    assert any("error ACK103" in line for line in result.outlines)


def test_a_skipped_test_is_neither_judged_nor_counted(run):
    result = run("""
        def test_skips():
            drive(Twice)
            pytest.skip("no database")
        @pytest.mark.skip
        def test_never(): pass
        def test_healthy(): drive(Healthy)
    """)
    result.assert_outcomes(passed=1, skipped=2)
    assert section(result) == ["1 test: every tuple completed exactly once"]


def test_an_expected_failure_may_be_a_violation(run):
    result = run("""
        @pytest.mark.xfail(reason="acks twice", strict=True)
        def test_strict(): drive(Twice)
        @pytest.mark.xfail(reason="acks twice")
        def test_lenient(): drive(Twice)
        @pytest.mark.xfail(reason="works by now")
        def test_works(): drive(Healthy)
    """)
    result.assert_outcomes(xfailed=2, xpassed=1)


def test_an_expected_failure_of_unittest_may_be_a_violation(run):
    result = run("""
        import unittest
        class TestBolts(unittest.TestCase):
            @unittest.expectedFailure
            def test_twice(self): drive(Twice)
            @unittest.expectedFailure
            def test_works(self): drive(Healthy)
    """)
    result.assert_outcomes(xfailed=1, failed=1)


def test_each_test_fails_for_its_own_violations(run):
    result = run("""
        @pytest.mark.parametrize("bolt", [Healthy, Twice, Forgets, Healthy])
        def test_bolt(bolt): drive(bolt)
    """)
    assert letters(result) == ".AA."
    result.assert_outcomes(passed=2, failed=2)


def test_unittest_classes_are_traced(run):
    result = run("""
        import unittest
        class TestBolts(unittest.TestCase):
            def setUp(self): self.bolt = make(Twice)
            def test_twice(self): self.bolt._run()
            def test_nothing(self): pass
    """)
    assert letters(result) == ".A"


def test_a_test_with_subtests_fails_too(run):
    result = run("""
        import unittest
        class TestBolts(unittest.TestCase):
            def test_twice(self):
                for number in range(2):
                    with self.subTest(number=number):
                        drive(Twice)
        def test_skips_one(subtests):
            drive(Twice)
            with subtests.test("later"):
                pytest.skip("later")
        def test_own_failure(subtests):
            with subtests.test("fails"):
                drive(Twice)
                assert False
        def test_healthy(subtests):
            with subtests.test("passes"):
                drive(Healthy)
    """)
    assert section(result)[-1] == "3 of 4 tests broke the protocol: ACK103 x3 · ackdoctor explain ACK103"
    for name in ("TestBolts.test_twice", "test_skips_one", "test_own_failure"):
        assert "  error ACK103 double-ack  " in finding(result, name)[0]
    assert [line.split(".py::")[1] for line in shorts(result) if line.startswith("ACK ")] == [
        "TestBolts::test_twice",
        "test_skips_one",
        "test_own_failure",
    ]


def test_the_line_shows_the_first_finding_and_the_section_all(run):
    result = run("""
        def test_two():
            drive(Twice)
            drive(Forgets)
    """)
    starts = "ACK101 missing-ack bolts.py:17 "
    (line,) = (line for line in result.outlines if line.startswith(starts))
    assert line.endswith(" (and 1 more)")
    lines = [line for line in finding(result, "test_two") if "  error ACK" in line]
    assert [line.split()[2] for line in lines] == ["ACK101", "ACK103"]


# ---- what may be wrong ----


def test_a_mark_allows_a_rule(run):
    source = """
        @pytest.mark.ackdoctor(allow=["double-ack"])
        def test_allowed(): drive(Twice)
        @pytest.mark.ackdoctor(allow=["ACK2"])
        def test_other(): drive(Twice)
    """
    assert letters(run(source)) == ".A"
    assert any(line.endswith("  (ACK103 accepted)") for line in section(run(source, "-v")))


def test_a_mark_allows_open_tuples_up_to_a_number(run):
    result = run("""
        @pytest.mark.ackdoctor(max_pending=2)
        def test_two(): drive(Forgets, 2)
        @pytest.mark.ackdoctor(max_pending=2)
        def test_three(): drive(Forgets, 3)
        @pytest.mark.ackdoctor(max_pending=2)
        def test_double(): drive(Twice, 1)
    """)
    assert letters(result) == ".AA"


def test_with_warn_the_test_passes(run):
    result = run("def test_twice(): drive(Twice)", "--ackdoctor-warn")
    result.assert_outcomes(passed=1)
    assert section(result)[-1] == "1 of 1 test broke the protocol: ACK103 · ackdoctor explain ACK103"


@pytest.mark.parametrize(("flags", "times"), [([], 1), (["-rA"], 1), (["-n1"], 1), (["-qq"], 0)])
def test_warn_shows_each_finding_once(run, flags, times):
    result = run("def test_twice(): drive(Twice)", "--ackdoctor-warn", *flags)
    assert str(result.stdout).count("error ACK103 double-ack") == times
    assert ("ACKDOCTOR'S WARNINGS" in str(result.stdout)) == (times > 0 and flags != ["-rA"])


def test_a_comment_in_the_source_suppresses_a_finding_as_in_lint(run, pytester):
    write(pytester, "")
    text = (pytester.path / "bolts.py").read_text()
    double = "        self.ack(tup)\n        self.ack(tup)\n"
    assert double in text
    silenced = double[:-1] + "  # ackdoctor: ignore[ACK103] the broker wants it\n"
    (pytester.path / "sick.py").write_text(text.replace(double, silenced))
    result = run("""
        import sick
        def test_silenced(): drive(sick.Twice)
    """)
    result.assert_outcomes(passed=1)


def test_settings_of_the_project_apply(run, pytester):
    pytester.makepyprojecttoml('[tool.ackdoctor]\nper-file-ignores = { "bolts.py" = ["ACK103"] }\n')
    run("def test_twice(): drive(Twice)").assert_outcomes(passed=1)
    pytester.makepyprojecttoml('[tool.ackdoctor]\nignore = ["missing-ack"]\n')
    result = run("""
        def test_twice(): drive(Twice)
        def test_forgets(): drive(Forgets)
    """)
    assert letters(result) == "A."


def test_a_baseline_accepts_known_findings_only(run, pytester):
    both = """
        def test_twice(): drive(Twice)
        def test_forgets(): drive(Forgets)
    """
    baseline = ("--ackdoctor-baseline", "known.json")
    written = run("def test_twice(): drive(Twice)", *baseline, "--ackdoctor-write-baseline")
    written.assert_outcomes(passed=1)
    assert section(written)[-1] == "known.json: 1 accepted, 1 of them new, 0 dropped"
    (entry,) = json.loads((pytester.path / "known.json").read_text())["findings"]
    assert (entry["path"], entry["code"], entry["where"]) == ("bolts.py", "ACK103", "Twice.process")
    assert letters(run(both, *baseline)) == ".A"
    again = run("def test_forgets(): drive(Forgets)", *baseline, "--ackdoctor-write-baseline")
    assert section(again)[-1] == "known.json: 1 accepted, 1 of them new, 1 dropped"


def test_another_file_is_not_overwritten_by_a_baseline(run, pytester):
    (pytester.path / "settings.toml").write_text("[tool]\n")
    result = run(
        "def test_twice(): drive(Twice)", "--ackdoctor-baseline=settings.toml", "--ackdoctor-write-baseline"
    )
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "settings.toml: not a baseline" in result.errlines[0]
    assert (pytester.path / "settings.toml").read_text() == "[tool]\n"


def test_a_missing_baseline_ends_the_run(run):
    result = run("def test_twice(): drive(Twice)", "--ackdoctor-baseline", "nowhere.json")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert result.errlines[0].endswith("nowhere.json: no such file; --ackdoctor-write-baseline creates it")


def test_writing_a_baseline_needs_its_name(run):
    result = run("def test_twice(): drive(Twice)", "--ackdoctor-write-baseline")
    assert result.errlines == ["ERROR: --ackdoctor-write-baseline needs --ackdoctor-baseline FILE", ""]


# ---- how much is said ----


def test_quiet_shows_findings_and_one_sentence_and_double_quiet_the_sentence_only(run):
    quiet = run("def test_twice(): drive(Twice)", "-q")
    assert any("error ACK103" in line for line in quiet.outlines)
    assert section(quiet) == ["1 of 1 test broke the protocol: ACK103 · ackdoctor explain ACK103"]
    quieter = run("def test_twice(): drive(Twice)", "-qq")
    assert not any("error ACK103" in line for line in quieter.outlines)


def test_after_ten_findings_of_a_test_the_rest_is_counted(run):
    source = (
        "\n".join(
            f"class Bolt{n}(Twice):\n    def process(self, tup):\n        self.ack(tup)\n        self.ack(tup)\n"
            for n in range(12)
        )
        + "\ndef test_many():\n"
        + "".join(f"    drive(Bolt{n})\n" for n in range(12))
    )
    few = finding(run(source), "test_many")
    assert sum("  error ACK103" in line for line in few) == 10
    assert few[-1] == "... and 2 more; -vv shows all"
    assert sum("  error ACK103" in line for line in finding(run(source, "-vv"), "test_many")) == 12


def test_a_terminal_without_unicode_gets_ascii(run, monkeypatch):
    class Ascii:
        encoding = "ascii"

    monkeypatch.setattr("sys.__stdout__", Ascii())
    assert "   24 | def process(self, tup):  , received     owed" in finding(
        run("def test_twice(): drive(Twice)"), "test_twice"
    )
