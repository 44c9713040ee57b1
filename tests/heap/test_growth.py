"""Class histograms: parsing, and growth that counts as a leak."""

from pathlib import Path

import pytest

from ackdoctor.acker.versions import profile
from ackdoctor.heap.growth import Histogram, growth, most_common_jvm, parse, timed
from ackdoctor.heap.judge import growth_findings
from ackdoctor.model.finding import Severity

HISTOGRAMS = Path(__file__).parents[2] / "fixtures" / "heaps" / "histograms"
ACK = "org.apache.storm.daemon.Acker$AckObject"
MB = 1 << 20


def series(**amounts):
    """Histograms a second apart; 40 bytes an instance, `__` in a name is a dot."""
    length = len(next(iter(amounts.values())))
    return [
        Histogram(
            classes={name.replace("__", "."): (many[at], many[at] * 40) for name, many in amounts.items()},
            time_ms=at * 1000,
            whole=True,
        )
        for at in range(length)
    ]


def rising(step, length=6):
    return [1000 + step * at for at in range(length)]


def growing_components(found, **words):
    return [
        (each.code, each.component)
        for each in growth_findings(growth(found, dated=True), "hist.txt", **words)
    ]


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("   1:         10        400  [B (java.base@17)", "byte[]"),
        ("   2:         10        400  [Ljava.lang.Object;", "java.lang.Object[]"),
        ("   3:         10        400  [[I", "int[][]"),
        ("   4:         10        400  org.apache.storm.daemon.Acker$AckObject", ACK),
    ],
)
def test_a_row_with_java_class_names_is_read(line, name):
    [histogram] = parse([" num     #instances         #bytes  class name (module)", line, "Total 10 400"])
    assert histogram.classes == {name: (10, 400)}


@pytest.mark.parametrize("mark", [",", ".", "'", "\u2019", "\u00a0", "\u202f"])
def test_counts_may_separate_thousands(mark):
    counts = f"{1_234_567:,}  {49_382_680:,}".replace(",", mark)
    text = f" num  #instances  #bytes  class name\n   1:  {counts}  Order\n   2:  900  28{mark}800  [I\nTotal  {counts.replace('567', '999')}\n"
    [histogram] = parse(text.split("\n"))
    assert histogram.classes == {"Order": (1_234_567, 49_382_680), "int[]": (900, 28_800)}
    assert (histogram.whole, histogram.lost) == (True, [])


@pytest.mark.parametrize("counts", ["1 234  49 360", "1,23  400", "1,234,56  400"])
def test_a_count_that_is_no_number_is_a_damaged_row(counts):
    [histogram] = parse([" num  #instances  #bytes  class name", f"   1:  {counts}  Order", "Total 9 9"])
    assert (histogram.classes, len(histogram.lost)) == ({}, 1)


@pytest.mark.parametrize(
    ("line", "time_ms"),
    [
        ("2026-11-21T22:58:35.575Z", 1795301915575),
        ("2026-11-21 22:58:35", 1795301915000),
        ("2026-11-21T23:58:35+01:00", 1795301915000),
        ("2026-11-21T17:28:35.000-0530", 1795301915000),
        ("1795301915", 1795301915000),
        ("1795301915575", 1795301915575),
        ("Sat Nov 21 22:58:35 UTC 2026", 1795301915000),
        ("Sat Nov 21 10:58:35 PM UTC 2026", 1795301915000),
        ("Sat Nov 21 12:58:35 PM UTC 2026", 1795265915000),
        ("Sat Nov 21 12:58:35 AM UTC 2026", 1795222715000),
        ("Sat Nov  7 10:58:35 PM -03 2026", 1794092315000),
        ("Sat 21 Nov 2026 10:58:35 PM UTC", 1795301915000),
        ("Sat 21 Nov 22:58:35 GMT 2026", 1795301915000),
        ("Sa 21. Nov 22:58:35 CET 2026", 1795301915000),
        ("Sat, 21 Nov 2026 22:58:35 +0000", 1795301915000),
        ("Sat Nov 21 2026", None),
        ("Sat Nov 31 22:58:35 UTC 2026", None),
        ("order 2026-13-21 22:58:35", None),
        ("4711:", None),
    ],
)
def test_the_line_before_may_hold_the_time(line, time_ms):
    [histogram] = parse(
        [line, " num     #instances         #bytes  class name", " 1:  1  16  A", "Total 1 16"]
    )
    assert histogram.time_ms == time_ms


def test_a_file_without_its_head_is_read_from_its_first_row():
    [histogram] = parse(["   1:         10        400  A", "   2:         10        400  B"])
    assert (sorted(histogram.classes), histogram.whole) == (["A", "B"], False)


@pytest.mark.parametrize(
    ("before", "times"),
    [
        ("2026-11-21T22:58:{at}.123456789Z ", [1795301890123, 1795301891123]),
        ("[{at}.500s][trace][gc,classhisto      ] GC(3) ", [10500, 11500]),
        ("[2026-11-21T22:58:{at}.000+0000][trace] ", [1795301890000, 1795301891000]),
        ("Nov 21 22:58:{at} ", [None, None]),
    ],
)
def test_every_line_of_a_log_may_have_a_prefix(before, times):
    text = [
        "{}4711:",
        "{} num     #instances         #bytes  class name",
        "{}   1:   {at}  400  [B (java.base@17)",
    ]
    text += ["{}Total   {at}   500", "{}12:  7 requests  left"]
    lines = [line.replace("{}", before).replace("{at}", str(at)) for at in (10, 11) for line in text]
    found = list(parse(lines))
    assert [each.classes for each in found] == [{"byte[]": (10, 400)}, {"byte[]": (11, 400)}]
    assert [(each.time_ms, each.whole, each.total) for each in found] == [(at, True, 500) for at in times]


OPENJ9 = """num   object count     total size    class name
-------------------------------------------------
  1           3354         107328    [C
  2            717          57360    org.apache.storm.daemon.Acker$AckObject
Total         4071         164688"""
SERVICEABILITY = """Object Histogram:

num \t  #instances\t#bytes\tClass description
--------------------------------------------------------------------------
1:\t\t3354\t107328\tchar[]
2:\t\t717\t57360\torg.apache.storm.daemon.Acker$AckObject
Total : \t4071\t164688
Heap traversal took 15.734 seconds."""


@pytest.mark.parametrize("before", ["", "2026-11-21T22:58:10.123456789Z ", "Nov 21 22:58:10 host java[12]: "])
@pytest.mark.parametrize("text", [OPENJ9, OPENJ9.replace(".", "/"), SERVICEABILITY])
def test_layouts_of_other_tools_are_read(text, before):
    [histogram] = parse(before + line for line in text.splitlines())
    assert histogram.classes == {"char[]": (3354, 107328), ACK: (717, 57360)}
    assert (histogram.whole, histogram.total) == (True, 164688)


def test_a_line_without_a_header_is_no_row():
    assert list(parse(["2026-11-21 22:58:35 worker 1:  12  400  done"])) == []


def test_a_histogram_before_a_collection_counts_garbage():
    text = """[1.0s] Class Histogram (before full gc)
[1.000s] GC(0)  num     #instances         #bytes  class name
[1.000s] GC(0)    1:   90  400  A
[1.000s] GC(0) Total   90   500
[1.100s] Class Histogram (after full gc)
[1.100s] GC(0)  num     #instances         #bytes  class name
[1.100s] GC(0)    1:   10  400  A
[1.100s] GC(0) Total   10   500"""
    assert [(each.garbage, each.instances("A")) for each in parse(text.splitlines())] == [
        (True, 90),
        (False, 10),
    ]


@pytest.mark.parametrize(
    ("jvms", "most"),
    [([], ""), (["", ""], ""), (["", "", "7"], "7"), (["7", "8"], "8"), (["8", "7", "7", "8", "7"], "7")],
)
def test_most_histograms_name_their_process(jvms, most):
    assert most_common_jvm(Histogram(jvm=jvm) for jvm in jvms) == most


@pytest.mark.parametrize(
    ("amounts", "limit", "full_in"),
    [
        ([0, 1000, 2000, 3000], 150_000, "1 s"),
        ([0, 1000, 2000, 3000], 120_000 + 40_000 * 100, "100 s"),
        ([0, 1000, 2000, 3000], 120_000 + 40_000 * 180, "3 minutes"),
        ([0, 1000, 2000, 3000], 119_000, "no time: the live objects already exceed it"),
    ],
)
def test_the_time_until_the_heap_is_full_is_in_seconds(amounts, limit, full_in):
    assert growth(series(Session=amounts), dated=True, limit=limit).full_in == full_in


def test_a_slow_leak_has_a_rate():
    [finding] = growth_findings(
        growth(series(**{ACK.replace(".", "__"): range(0, 50_000, 2)}), dated=True), "h.txt"
    )
    assert "at 104 bytes an entry, its share of the table included, 0.21 kB a second" in finding.evidence.left


def test_an_explicit_interval_wins():
    found = [Histogram(), Histogram()]
    assert [each.time_ms for each in timed(found, every_ms=5000, fallback=[9, 9])[1]] == [0, 5000]
    assert timed([Histogram(), Histogram()], every_ms=None, fallback=[7, 7])[0] is False


def test_copied_files_keep_their_order_and_have_no_times():
    found = [Histogram(line=1), Histogram(line=2), Histogram(line=3)]
    dated, ordered = timed(found, every_ms=None, fallback=[12, 9, 15])
    assert (dated, [each.line for each in ordered]) == (False, [1, 2, 3])
    dated, ordered = timed(found, every_ms=None, fallback=[2000, 1000, 3000])
    assert (dated, [each.line for each in ordered]) == (True, [2, 1, 3])


@pytest.mark.parametrize(
    ("amounts", "fall"),
    [
        ([20_000, 80_000, 140_000, 20_000, 80_000, 140_000], (140_000, 20_000)),
        ([20_000, 80_000, 140_000, 90_000, 150_000, 210_000], None),  # a rotation drops up to a half
        ([20_000, 80_000, 140_000, 200_000, 260_000, 320_000], None),
        ([2_000, 60, 1_900, 40, 2_000, 50], None),  # bursts, between which all is acked
        ([2_000, 2_000, 2_000, 0, 0, 0], None),
    ],
)
def test_a_fall_between_two_rises_is_no_proof_that_nothing_grows(amounts, fall):
    row = growth(series(**{ACK.replace(".", "__"): amounts}), dated=True).restarted
    assert (row and row.fall) == fall


@pytest.mark.parametrize(("version", "severity"), [("1.1.0", Severity.ERROR), ("2.8.3", Severity.WARNING)])
def test_a_growing_acker_is_found_and_priced(version, severity):
    dated, found = timed(
        list(parse((HISTOGRAMS / f"growing-{version}.txt").read_text().splitlines())),
        every_ms=None,
        fallback=[],
    )
    grown = growth(found, dated=dated, limit=768 * MB)
    [finding] = growth_findings(grown, "hist.txt", profile(version))
    assert (finding.code, finding.severity) == ("ACK603", severity)
    assert grown.points == 6
    assert grown.full_in == {"1.1.0": "8 minutes", "2.8.3": "13 minutes"}[version]


@pytest.mark.parametrize(
    "name", ["org__apache__storm__executor__TupleInfo", "com__alibaba__jstorm__task__comm__TupleInfo"]
)
def test_a_growing_pending_map_of_a_spout_is_reported(name):
    found = series(**{name: rising(5000)})
    grown = growth(found, dated=True)
    assert grown.rows[0].sign.means.startswith("messages that a spout waits for")
    [finding] = growth_findings(grown, "hist.txt", profile("1.1.0"))
    assert (finding.code, finding.component, finding.severity) == ("ACK603", "spout", Severity.WARNING)
    assert finding.message == (
        "the pending map of a spout grows in every histogram: its messages come faster than they are acked, or are "
        "never acked, and an entry stays until an answer or a timeout"
    )


def test_a_bounded_pending_map_of_a_spout_is_no_finding():
    found = series(org__apache__storm__executor__TupleInfo=[0, 5000, 5000, 5000, 5000, 5000])
    assert growing_components(found) == []


def test_tuples_with_the_nodes_of_a_concurrent_map_are_shellbolt_s_inputs():
    found = series(
        org__apache__storm__tuple__TupleImpl=rising(5000),
        **{"java__util__concurrent__ConcurrentHashMap$Node": rising(5000)},
    )
    assert growing_components(found) == [("ACK401", "ShellBolt")]
    alone = series(org__apache__storm__tuple__TupleImpl=rising(5000))
    assert growing_components(alone) == []


def test_a_sawtooth_is_no_leak():
    assert growing_components(series(**{ACK.replace(".", "__"): [1000, 9000, 2000, 9500, 1500, 9900]})) == []


def test_two_histograms_are_no_trend():
    assert growing_components(series(**{ACK.replace(".", "__"): [1000, 90000]})) == []


def test_clojure_s_maps_alone_are_no_acker():
    assert growing_components(series(clojure__lang__PersistentArrayMap=rising(5000))) == []


MAP, VECTOR, NODE = (
    "clojure__lang__PersistentArrayMap",
    "clojure__lang__PersistentVector",
    "java__util__HashMap$Node",
)
LONG = "java__lang__Long"


@pytest.mark.parametrize(
    ("amounts", "components"),
    [
        ({MAP: 5000, NODE: 5000}, ["acker"]),
        ({MAP: 5000, NODE: 5000, VECTOR: 5000}, ["spout"]),
        ({MAP: 5000, NODE: 5000, VECTOR: 3900}, []),
        ({MAP: 5000, NODE: 5000, VECTOR: 2500}, ["acker"]),
        ({MAP: 5000, NODE: 5000, VECTOR: 100}, ["acker"]),
    ],
)
def test_an_entry_of_a_spout_of_1_x_has_a_vector_and_a_map_too(amounts, components):
    found = series(**{name: rising(step) for name, step in {LONG: 9000, **amounts}.items()})
    assert [each.strip("_") for _, each in growing_components(found)] == components
