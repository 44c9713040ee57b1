"""Input, output and exit codes of `ackdoctor heap hist`."""

import gzip
import json
import os
from pathlib import Path

import pytest

from ackdoctor.cli import heap
from ackdoctor.model import UsageError
from tests.cli.test_heap import HEAPS, codes


def test_growth_is_a_finding_with_the_time_until_the_heap_is_full(shell):
    outcome = shell("heap", "hist", str(HEAPS / "histograms" / "growing-2.8.3.txt"), "--xmx", "768m")
    assert outcome.code == 1
    assert outcome.out.splitlines()[1:3] == [
        "  6 histograms over 10.1 s: 9.2 MB at first, 19.7 MB at last",
        "  768 MB are full in 13 minutes, at 1.0 MB a second (R2 0.97)",
    ]


def test_one_histogram_is_listed(shell):
    text = (HEAPS / "histograms" / "growing-2.8.3.txt").read_text().partition("Total")[0]
    Path("one.txt").write_text(text + "Total 200000 10000000\n")
    outcome = shell("heap", "hist", "one.txt")
    assert outcome.code == 0
    assert outcome.out.splitlines()[:2] == [
        "INCOMPLETE: 1 histogram cannot show growth: take three or more, some seconds apart",
        "  1 histogram: 10.0 MB",
    ]
    assert "Acker$AckObject: entries of the acker's pending map (2.x)" in outcome.out


def histograms(**amounts):
    """The text of histograms a minute apart, of classes without a package."""
    for at, row in enumerate(zip(*amounts.values(), strict=True)):
        yield f"2026-11-21 22:{at:02}:00\n num     #instances         #bytes  class name\n"
        pairs = list(zip(amounts, row, strict=True))
        yield from (f"   1:  {amount}  {amount * 100}  {name}\n" for name, amount in pairs)
        yield f"Total  {sum(row)}  {sum(row) * 100}\n"


@pytest.mark.parametrize(
    ("amounts", "first"),
    [
        ([5_000, 6_000], "INCOMPLETE: 2 histograms cannot show growth: take three or more, some seconds apart"),
        ([5_000, 6_000, 7_000], "GROWING: the heap grows linearly, but no known class of Storm does; the fastest is Session (+200,000 of +200,000 bytes)"),
        ([5_000, 6_000, 5_500], "OK: 3 histograms, nothing is wrong"),
        ([5_000, 5_001, 5_002], "OK: 3 histograms, nothing is wrong"),
    ],
)  # fmt: skip
def test_a_growing_heap_is_never_ok(amounts, first, shell):
    Path("a.txt").write_text("".join(histograms(Order=[9] * len(amounts), Session=amounts)))
    outcome = shell("heap", "hist", "a.txt", "--xmx", "2m")
    assert (outcome.code, outcome.out.partition("\n")[0]) == (0, first)
    assert json.loads(shell("heap", "hist", "a.txt", "--output-format", "json").out)["verdict"] == first


def test_a_truncated_histogram_hides_no_growth(shell):
    text = "".join(histograms(Session=[5_000, 6_000, 7_000, 8_000], Order=[9_000] * 4))
    Path("a.txt").write_text(text[: text.rindex("   1:  9000")])  # the worker died while it was written
    outcome = shell("heap", "hist", "a.txt")
    assert outcome.code == 2
    assert outcome.out.startswith("GROWING: ")
    assert "\n  3 histograms over 120.0 s: 1.4 MB at first, 1.6 MB at last\n" in outcome.out
    assert (
        outcome.err
        == "ackdoctor: a.txt, line 17: the histogram is cut off and ignored: its last line, Total, is missing\n"
    )


@pytest.mark.parametrize(
    ("cut", "expected"), [("2026", "  the files have no times"), ("22:03", "  64 MB: no forecast")]
)
def test_a_heap_that_does_not_grow_has_no_forecast(cut, expected, shell):
    text = "".join(histograms(Session=[5_000, 6_000, 5_500])).splitlines(keepends=True)
    Path("a.txt").write_text("".join(line for line in text if not line.startswith(cut)))
    outcome = shell("heap", "hist", "a.txt", "--xmx", "64m")
    assert outcome.out.splitlines()[2].startswith(expected)
    assert ("no forecast" in outcome.out) == (cut == "22:03")


@pytest.mark.parametrize("options", [(), ("--every", "60")])
def test_histograms_without_times_are_said_to_be_in_the_order_of_their_files(options, shell):
    names = ["b.txt", "a.txt", "c.txt"]
    for at, (name, amount) in enumerate(zip(names, [5_000, 6_000, 7_000], strict=True)):
        text = "".join(histograms(Session=[amount]))
        Path(name).write_text(text[text.index(" num") :])
        os.utime(name, (1_700_000_000 + at * 60, 1_700_000_000 + at * 60))
    outcome = shell("heap", "hist", "a.txt", "b.txt", "c.txt", *options)
    note = "ackdoctor: 3 histograms without a time: ordered by the times of the files' last changes; --every SECONDS keeps the order given\n"
    assert outcome.err == ("" if options else note)


@pytest.mark.parametrize(("size", "words"), [("1m", "1.0 MB"), ("1k", "1,024 bytes")])
@pytest.mark.parametrize("count", [1, 3])
def test_a_histogram_larger_than_the_heap_is_reported(count, size, words, shell):
    Path("a.txt").write_text("".join(histograms(Session=[15_000, 16_000, 17_000][:count])))
    outcome = shell("heap", "hist", "a.txt", "--xmx", size)
    assert outcome.out.splitlines()[2] == (
        f"  the last histogram holds more than --xmx, {words}: is that the -Xmx of this worker?"
    )


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
@pytest.mark.parametrize("zipped", [False, True])
def test_histograms_may_be_zipped_or_come_from_powershell(encoding, zipped, shell):
    data = "".join(histograms(Session=[5_000, 6_000, 7_000])).encode(encoding)
    Path("a.txt").write_bytes(gzip.compress(data) if zipped else data)
    assert "  3 histograms over 120.0 s: " in shell("heap", "hist", "a.txt").out


def test_histograms_of_two_workers_are_not_compared(shell):
    parts = list(histograms(Session=[5_000, 100, 6_000, 90, 7_000, 8_000]))
    jvms = iter(["17", "18", "17", "18", "17", "17"])
    Path("a.txt").write_text(
        "".join(part.replace("\n num", f"\n{next(jvms)}:\n num") if "num" in part else part for part in parts)
    )
    outcome = shell("heap", "hist", "a.txt")
    assert outcome.code == 2
    assert outcome.out.splitlines()[1] == "  4 histograms over 300.0 s: 500.0 kB at first, 800.0 kB at last"
    assert (
        outcome.err
        == "ackdoctor: a.txt: 2 histograms of JVM 18 ignored, since most are of 17: run the command once for each JVM\n"
    )


def jcmd_that(monkeypatch, answers):
    """A jcmd that returns histograms of these amounts, and raises the exceptions among them."""
    remaining = iter(answers)

    def ask(pid, command, *_):
        if command == "VM.flags":
            return "-XX:MaxHeapSize=67108864 -XX:+UseG1GC"
        answer = next(remaining)
        if isinstance(answer, int):
            return "".join(histograms(Session=[answer]))
        raise answer

    monkeypatch.setattr(heap, "_jcmd", ask)


@pytest.mark.parametrize(
    ("end", "code", "error"),
    [
        (KeyboardInterrupt(), 0, "ackdoctor: interrupted: 3 histograms of 6 taken"),
        (UsageError("--pid 7: jcmd cannot reach it: no such process"), 2, "ackdoctor: pid 7: gone after 3 histograms: --pid 7: jcmd cannot reach it: no such process"),
    ],
)  # fmt: skip
def test_histograms_taken_before_the_jvm_ends_are_judged(end, code, error, shell, monkeypatch):
    jcmd_that(monkeypatch, [5_000, 6_000, 7_000, end])
    outcome = shell("heap", "hist", "--pid", "7", "--every", "0.1")
    assert (outcome.code, outcome.err.splitlines()[-1]) == (code, error)
    assert outcome.out.startswith("GROWING: ")
    assert "  3 histograms over " in outcome.out
    assert "  64 MB are full in " in outcome.out


@pytest.mark.parametrize("files", [["a.txt", "a.txt", "a.txt"], ["a.txt", "b.txt", "a.txt"]])
def test_a_repeated_histogram_does_not_prove_that_nothing_grows(files, shell):
    for name in files:
        Path(name).write_text("".join(list(histograms(Session=[5_000]))))
    outcome = shell("heap", "hist", *files)
    assert (outcome.code, outcome.out.partition(" cannot")[0]) == (0, "INCOMPLETE: 1 histogram")
    assert outcome.err == "ackdoctor: 2 repeated histograms ignored\n"


def test_numbered_files_are_read_in_the_order_of_their_numbers(shell):
    for number in (8, 9, 10, 11):
        Path(f"hist-{number}.txt").write_text(
            f" num     #instances         #bytes  class name\n   1:  {number}0000  {number}0000000  {ACK_OBJECT}\nTotal  {number}0000  {number}0000000\n"
        )
    files = sorted(map(str, Path().glob("hist-*.txt")))
    assert files[0] == "hist-10.txt"
    for number, file in enumerate(files):
        os.utime(file, (9_000 + 60 * number,) * 2)  # copied in this order
    for interval in ([], ["--every", "30"]):
        outcome = shell("heap", "hist", *interval, *files)
        assert (outcome.code, outcome.out[:7]) == (1, "BROKEN:")
    Path("hist-9.txt").unlink()
    Path("hist-8.txt").rename("hist-2.txt")
    Path("hist-2.txt").write_text(Path("hist-10.txt").read_text().replace("10", "2"))
    Path("hist-1.txt").write_text(Path("hist-10.txt").read_text().replace("10", "1"))
    outcome = shell("heap", "hist", *sorted(map(str, Path().glob("hist-*.txt"))))
    assert outcome.out.startswith(
        f"INCOMPLETE: {ACK_OBJECT} never falls and grows from 10,000 to 110,000, but not along a line"
    )


def test_a_worker_that_restarts_between_histograms_is_not_ok(shell):
    text = "".join(
        f" num     #instances         #bytes  class name\n   1:  {amount}  {amount}00  {ACK_OBJECT}\nTotal  {amount}  {amount}00\n"
        for amount in (20_000, 80_000, 140_000, 20_001, 80_001, 140_001)
    )
    Path("all.txt").write_text(text)
    outcome = shell("heap", "hist", "--every", "30", "all.txt")
    assert outcome.out.startswith(
        f"INCOMPLETE: {ACK_OBJECT} grows, but falls from 140,000 to 20,001 between two histograms"
    )


def test_histograms_that_differ_only_in_time_are_separate(shell):
    Path("a.txt").write_text("".join(histograms(Session=[5_000, 5_000, 5_000])))
    assert shell("heap", "hist", "a.txt").out.startswith("OK: 3 histograms")


def test_a_full_heap_names_what_a_bolt_may_keep(shell):
    tuple_class = "org.apache.storm.tuple.TupleImpl"
    Path("a.txt").write_text("".join(histograms(Session=[5, 5, 5], **{tuple_class: [5_000, 6_000, 7_000]})))
    outcome = shell("heap", "hist", "a.txt")
    assert (outcome.code, outcome.out.partition("\n")[0]) == (
        0,
        f"GROWING: the heap grows linearly together with {tuple_class} (5,000 to 7,000): tuples that a bolt keeps, or that "
        "wait in a queue before a slow one",
    )


def test_an_unreachable_jvm_is_reported_in_one_line(shell, monkeypatch):
    jcmd_that(monkeypatch, [UsageError("--pid 7: no such process")])
    assert shell("heap", "hist", "--pid", "7") == (2, "", "ackdoctor: --pid 7: no such process\n")


ACK_OBJECT = "org.apache.storm.daemon.Acker$AckObject"
ROW = "[{at}.000s] GC(0) {row}\n"


def test_only_histograms_after_collections_are_compared(shell):
    held = "org.apache.storm.daemon.Acker$AckObject"
    with Path("gc.log").open("w") as log:
        for at in range(10, 80, 10):
            for when, amount in (("before", 90_000 - 1_000 * at), ("after", 5_000 * at)):
                rows = [f"Class Histogram ({when} full gc)", " num     #instances         #bytes  class name"]
                rows += [f"   1:  {amount}  {amount * 40}  {held}", f"Total  {amount}  {amount * 40}"]
                log.writelines(ROW.format(at=at, row=row) for row in rows)
    outcome = shell("heap", "hist", "gc.log")
    assert codes(shell("heap", "hist", "gc.log", "--output-format", "concise"))[:1] == ["ACK603"]
    assert "  7 histograms over 60.0 s: " in outcome.out
    assert "350,000" in outcome.out


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ([], "ackdoctor: name files with histograms, or a JVM with --pid PID\n"),
        (["a.txt", "--pid", "1"], "ackdoctor: --pid takes histograms itself: name no files with it\n"),
        (["a.txt"], "ackdoctor: a.txt: cannot be read: No such file or directory\n"),
        (["4711"], "ackdoctor: 4711: no such file; name a JVM with --pid 4711\n"),
        (["a.txt", "--xmx", "much"], "ackdoctor: --xmx: 'much' is not a size; write 768m or 4g\n"),
    ],
)
def test_a_histogram_that_jcmd_does_not_return_is_reported_in_one_line(arguments, error, shell):
    assert shell("heap", "hist", *arguments) == (2, "", error)


def test_a_text_without_rows_is_no_histogram(shell):
    Path("a.txt").write_text("hello\n")
    assert (
        shell("heap", "hist", "a.txt").err
        == "ackdoctor: a.txt: no class histogram: no line like `1:  1000  40000  java.lang.Long`\n"
    )


def test_a_header_without_rows_is_named(shell, tmp_path):
    text = tmp_path / "worker.txt"
    text.write_text("2026-11-21T22:58:58.082Z\n num     #instances         #bytes  class n")
    outcome = shell("heap", "hist", str(text))
    assert (outcome.code, outcome.out) == (2, "")
    assert "no class histogram" in outcome.err


def test_acker_entries_that_the_spouts_do_not_explain_are_not_ok(shell):
    counts = {
        "org.apache.storm.daemon.Acker$AckObject": [1_800, 14_300, 13_700, 14_700],
        "org.apache.storm.executor.TupleInfo": [700] * 4,
    }
    Path("a.txt").write_text("".join(histograms(**counts)))
    assert (
        shell("heap", "hist", "a.txt")
        .out.partition("\n")[0]
        .startswith(
            "INCOMPLETE: the ackers hold 14,700 entries, and this worker's spouts wait for 700 messages; the other entries are orphans, or"
        )
    )
