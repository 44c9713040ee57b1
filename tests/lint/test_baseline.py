"""The baseline: new, known and fixed findings."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from ackdoctor.config import Settings
from ackdoctor.lint.baseline import Baseline, Entry, compare, compare_report, entries_of, read, write
from ackdoctor.lint.select import filter_report
from ackdoctor.model import BaselineError
from ackdoctor.model.finding import Confidence, Finding, PathWitness, Report, Severity, Unreadable, stamp
from ackdoctor.model.source import Site, Span

NAMES = {"ACK101": "missing-ack", "ACK103": "double-ack", "ACK206": "stdout-in-multilang"}


def finding(line: int = 1, path: str = "bolt.py", handler: str = "process", code: str = "ACK101") -> Finding:
    return Finding(
        code=code,
        name=NAMES[code],
        severity=Severity.ERROR,
        confidence=Confidence.MUST,
        site=Site(path, Span(line, 1, line, 2)),
        message="m",
        component="CountBolt",
        handler=handler,
        dialect="streamparse",
        evidence=PathWitness(steps=()),
        cause="return in if",
    )


def baseline_of(folder: Path, *findings: Finding) -> Baseline:
    path = folder / "known.json"
    write(path, entries_of(stamp(findings), path, root=folder))
    return read(path)


def new_and_fixed(baseline: Baseline, root: Path, *findings: Finding) -> tuple[list[int], list[str]]:
    """Return the lines of the new findings, and the fixed entries."""
    comparison = compare(baseline, stamp(findings), root=root, checked=lambda _: True, gone=lambda _: False)
    return [f.site.span.line for f in comparison.new], [str(entry) for entry in comparison.fixed]


def test_a_fingerprint_depends_neither_on_the_line_nor_on_the_file():
    assert stamp([finding(3)])[0].fingerprint == stamp([finding(90, "moved.py")])[0].fingerprint
    assert stamp([finding(3)])[0].fingerprint != stamp([finding(3, handler="process_tick")])[0].fingerprint


def test_equal_fingerprints_get_an_ordinal():
    first, second, third = (f.fingerprint for f in stamp([finding(1), finding(2), finding(3)]))
    assert (second, third) == (f"{first}-2", f"{first}-3")


def test_an_accepted_finding_that_moves_is_known(tmp_path):
    baseline = baseline_of(tmp_path, finding(3))
    assert new_and_fixed(baseline, tmp_path, finding(90)) == ([], [])
    assert new_and_fixed(baseline, tmp_path, finding(3, "moved.py")) == ([], [])


def test_one_finding_more_than_accepted_is_new(tmp_path):
    baseline = baseline_of(tmp_path, finding(3))
    assert new_and_fixed(baseline, tmp_path, finding(3), finding(9)) == ([9], [])


def test_of_equal_findings_the_one_in_another_file_is_new(tmp_path):
    baseline = baseline_of(tmp_path, finding(3, "z.py"))
    assert new_and_fixed(baseline, tmp_path, finding(1, "a.py"), finding(3, "z.py")) == ([1], [])


@pytest.mark.parametrize("gone", [False, True])
def test_a_finding_outside_a_handler_does_not_replace_another(tmp_path, gone):
    mended, made = (
        replace(finding(3, path), code="ACK901", component="", handler="", cause=cause)
        for path, cause in [
            ("a.py", "silences nothing"),
            ("b.py" if gone else "a.py", "no rule is called so"),
        ]
    )
    comparison = compare(
        baseline_of(tmp_path, mended),
        stamp([made]),
        root=tmp_path,
        checked=lambda _: True,
        gone=lambda _: gone,
    )
    assert comparison.new == stamp([made])


def test_a_copy_is_new_if_the_run_does_not_read_the_original(tmp_path):
    baseline = baseline_of(tmp_path, finding(3))
    (tmp_path / "bolt.py").touch()
    copied = Report(findings=(finding(3, "copy.py"),), files=("copy.py",))
    assert filtered_report(copied, baseline, tmp_path).findings == stamp(copied.findings)
    (tmp_path / "bolt.py").unlink()
    assert filtered_report(copied, baseline, tmp_path).findings == ()


def test_an_edit_on_the_path_to_an_accepted_finding_adds_no_finding(tmp_path):
    baseline = baseline_of(tmp_path, finding(3))
    edited = replace(finding(5), cause="another if/return in if")
    assert new_and_fixed(baseline, tmp_path, edited) == ([], [])
    assert new_and_fixed(baseline, tmp_path, edited, finding(9)) == ([5], [])


def test_an_edited_finding_may_move_if_its_file_is_gone(tmp_path):
    baseline = baseline_of(tmp_path, finding(3))
    edited = replace(finding(5, "moved.py"), cause="another if/return in if")
    report = Report(findings=(edited,), files=("moved.py",))
    assert filtered_report(report, baseline, tmp_path).findings == ()
    (tmp_path / "bolt.py").touch()
    assert filtered_report(report, baseline, tmp_path).findings == stamp(report.findings)


def test_if_an_edited_handler_gains_findings_all_of_them_are_new(tmp_path):
    baseline = baseline_of(tmp_path, finding(3))
    edited = replace(finding(5), cause="another if/return in if")
    fresh = replace(finding(3), cause="return in another if")
    assert new_and_fixed(baseline, tmp_path, fresh, edited) == ([3, 5], ["bolt.py: ACK101 CountBolt.process"])


@pytest.mark.parametrize("changed", [{"handler": "process_tick"}, {"path": "b.py"}, {"code": "ACK103"}])
def test_an_edited_finding_is_known_only_in_its_place(tmp_path, changed):
    baseline = baseline_of(tmp_path, finding(3))
    other = replace(finding(5, **changed), cause="another if/return in if")
    assert new_and_fixed(baseline, tmp_path, other) == ([5], ["bolt.py: ACK101 CountBolt.process"])


def test_an_entry_that_no_longer_occurs_is_fixed(tmp_path):
    baseline = baseline_of(tmp_path, finding(3), finding(5))
    assert new_and_fixed(baseline, tmp_path, finding(3)) == ([], ["bolt.py: ACK101 CountBolt.process"])


def test_paths_are_relative_to_the_baseline_file(tmp_path):
    (tmp_path / "ci").mkdir()
    path = tmp_path / "ci" / "known.json"
    write(path, entries_of(stamp([finding(3, "src/bolt.py")]), path, root=tmp_path))
    assert [entry.path for entry in read(path).entries] == ["../src/bolt.py"]
    (tmp_path / "src").mkdir()
    found = stamp([finding(3, "bolt.py")])
    assert (
        compare(read(path), found, root=tmp_path / "src", checked=lambda _: True, gone=lambda _: False).known
        == found
    )


def test_the_file_has_one_sorted_entry_a_line(tmp_path):
    baseline = baseline_of(
        tmp_path, finding(9, "z.py"), finding(1, "ä.py"), finding(2, "a.py", code="ACK103")
    )
    assert baseline.file.read_text(encoding="utf-8") == (
        '{\n  "version": 1,\n  "findings": [\n'
        '    {"path": "a.py", "code": "ACK103", "where": "CountBolt.process", "fingerprint": "e7d85f448cf2f384ff23"},\n'
        '    {"path": "z.py", "code": "ACK101", "where": "CountBolt.process", "fingerprint": "849a69982b9bf3accc67"},\n'
        '    {"path": "ä.py", "code": "ACK101", "where": "CountBolt.process", "fingerprint": "849a69982b9bf3accc67-2"}\n'
        "  ]\n}\n"
    )


def test_an_empty_baseline_can_be_written_and_read(tmp_path):
    assert baseline_of(tmp_path).entries == ()


def test_an_entry_that_a_merge_doubled_counts_once(tmp_path):
    baseline = baseline_of(tmp_path, finding(3), finding(4))
    document = json.loads(baseline.file.read_text(encoding="utf-8"))
    document["findings"] *= 2
    baseline.file.write_text(json.dumps(document), encoding="utf-8")
    assert new_and_fixed(read(baseline.file), tmp_path, finding(3), finding(4)) == ([], [])


def test_a_baseline_may_have_a_byte_order_mark_and_any_line_ends(tmp_path):
    baseline = baseline_of(tmp_path, finding(3))
    text = baseline.file.read_text(encoding="utf-8")
    baseline.file.write_text(text, encoding="utf-8-sig", newline="\r\n")
    assert read(baseline.file) == baseline


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not a baseline: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
        ("[]", "not a baseline of version 1"),
        ('{"version": 2, "findings": []}', "not a baseline of version 1"),
        ('{"version": 1}', "not a baseline: `findings` must be a list"),
        (
            '{"version": 1, "findings": [{"code": "ACK101"}]}',
            "entry 1 must have path, code, where, fingerprint",
        ),
    ],
)
def test_a_file_that_is_no_baseline_is_a_named_error(tmp_path, text, message):
    path = tmp_path / "known.json"
    path.write_text(text)
    with pytest.raises(BaselineError) as error:
        read(path)
    assert str(error.value) == f"{path}: {message}"


def test_a_binary_file_is_no_baseline(tmp_path):
    path = tmp_path / "known.json"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(BaselineError, match=r"known\.json: not a baseline: not UTF-8$"):
        read(path)


def test_a_missing_baseline_is_named(tmp_path):
    with pytest.raises(BaselineError, match=r"known\.json: no such file; --write-baseline creates it$"):
        read(tmp_path / "known.json")


def test_a_baseline_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(BaselineError, match=r"known\.json: the baseline cannot be written: No such file"):
        write(tmp_path / "none" / "known.json", [])


# ---- filtering: fingerprints, baseline, thresholds ----


def filtered_report(
    report: Report, baseline: Baseline | None, root: Path, settings: Settings | None = None
) -> Report:
    settings = settings or Settings()
    compared = compare_report(report, settings, baseline, root=root) if baseline else None
    return filter_report(report, settings, compared)


def test_findings_below_a_threshold_are_counted_as_hidden(tmp_path):
    doubtful = replace(finding(1), confidence=Confidence.MAY)
    mild = replace(finding(2), severity=Severity.INFO)
    report = filtered_report(Report(findings=(doubtful, mild, finding(3))), None, tmp_path)
    assert ([f.site.span.line for f in report.findings], report.hidden) == ([1, 3], 1)
    strict = Settings(min_severity=Severity.ERROR, min_confidence=Confidence.MUST)
    report = filtered_report(Report(findings=(doubtful, mild, finding(3))), None, tmp_path, strict)
    assert ([f.site.span.line for f in report.findings], report.hidden) == ([3], 2)


def test_known_findings_are_counted_as_baselined(tmp_path):
    baseline = baseline_of(tmp_path, finding(3))
    report = filtered_report(
        Report(findings=(finding(3), finding(4)), files=("bolt.py",)), baseline, tmp_path
    )
    assert ([f.site.span.line for f in report.findings], report.baselined, report.fixed) == ([4], 1, ())


def test_an_entry_of_a_file_that_was_read_or_is_gone_counts_as_fixed(tmp_path):
    baseline = baseline_of(tmp_path, finding(3), finding(3, "gone.py", handler="other"))
    (tmp_path / "bolt.py").touch()
    assert filtered_report(Report(files=("bolt.py",)), baseline, tmp_path).fixed == (
        "bolt.py: ACK101 CountBolt.process",
        "gone.py: ACK101 CountBolt.other",
    )


def test_an_entry_that_the_run_did_not_check_is_not_fixed(tmp_path):
    baseline = baseline_of(tmp_path, finding(3))
    (tmp_path / "bolt.py").touch()
    assert filtered_report(Report(files=("other.py",)), baseline, tmp_path).fixed == ()
    unread = Unreadable(path="bolt.py", line=1, column=1, reason="invalid syntax")
    assert filtered_report(Report(files=("bolt.py",), unreadable=(unread,)), baseline, tmp_path).fixed == ()
    ignored = Settings(ignore=("missing-ack",))
    assert filtered_report(Report(files=("bolt.py",)), baseline, tmp_path, ignored).fixed == ()
    off = baseline_of(tmp_path, finding(3, code="ACK206"))
    narrow = Settings(select=("ACK1",))
    assert filtered_report(Report(files=("bolt.py",)), off, tmp_path, narrow).fixed == ()
    selected = Settings(select=("ACK1",), extend_select=("ACK206",))
    assert filtered_report(Report(files=("bolt.py",)), off, tmp_path, selected).fixed == (
        "bolt.py: ACK206 CountBolt.process",
    )


def test_an_entry_prints_its_path_code_and_handler():
    assert str(Entry("a.py", "ACK901", "", "0")) == "a.py: ACK901"
