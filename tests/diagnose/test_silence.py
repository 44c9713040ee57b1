"""Silence is measured against the pace of the log itself."""

import pytest

from ackdoctor.diagnose.diagnosis import Places, diagnose

SAID = "2015-08-03T14:{0}:{1}.028+0200 b.s.t.ShellBolt [INFO] ShellLog pid:64304, name:parse I'm doing something\n"
OWN = "2015-08-03 14:{0}:{1}.016 c.a.ParseBolt Thread-8-parse-executor[3 3] [INFO] parsed\n"
STORMS = "2015-08-03T14:{0}:{1}.181+0200 s.k.ZkCoordinator [INFO] Task [3/3] Refreshing partition manager connections\n"
STOP = "2015-08-03T14:{0}:{1}.300+0200 b.s.d.worker [INFO] Shutting down worker t-1\n"
LAUNCH = "2015-08-03T14:{0}:{1}.000+0200 b.s.d.worker [INFO] Launching worker for t-1 on h:6700 with id 1 and conf {{}}\n"


def at(form, *minutes):
    return "".join(form.format(f"{minute:02d}", second) for minute in minutes for second in ("10", "40"))


def named(text, *more):
    texts = [text, *more]
    begins = [sum(len(each.splitlines()) for each in texts[:place]) for place in range(len(texts))]
    names = [f"670{place}/worker.log" for place in range(len(texts))]
    found = diagnose("".join(texts).splitlines(), Places(names, begins))
    return [(sign.symptom.name, sign.components, sign.fatal) for sign in found.signs]


FELL = "components that have fallen silent"


@pytest.mark.parametrize("form", [SAID, OWN])
def test_silent_components_are_reported_with_a_next_step(form):
    text = at(form, 1, 2, 3) + at(STORMS, *range(4, 30))
    assert named(text) == [(FELL, ["parse"], False)]
    [sign] = diagnose(text.splitlines()).signs
    assert any("jstack" in step for step in sign.symptom.next)
    assert sign.first.line == 6
    assert "then 1,560 s of the worker's own lines; before that at most 30 s without one" in sign.first.text


def test_ticks_are_not_the_work_of_components():
    work = "2016-05-26 14:{0}:{1}.016 o.a.s.d.executor Thread-8-parse-executor[3 3] [INFO] Processing received message FOR 3 TUPLE: source: kafka:2, stream: default, id: {{1=2}}, [a]\n"
    ticks = work.replace("kafka:2, stream: default", "__system:-1, stream: __tick")
    assert named(at(work, 1, 2, 3) + at(ticks, *range(4, 30))) == [(FELL, [], False)]
    assert named(at(work, 1, 2, 3) + at(work, *range(4, 30))) == []


@pytest.mark.parametrize(
    "text",
    [
        at(SAID, 1, 2, 3) + at(STORMS, 4, 5),  # not long enough
        at(SAID, 1, 8, 16) + at(STORMS, *range(17, 50)),  # they have paused before
        at(SAID, 1, 2, 3) + at(STORMS, 29),  # too few lines of the worker's own
        at(SAID, 1, 2, 3) + STOP.format("03", "50") + at(STORMS, *range(4, 30)),  # stopped
        LAUNCH.format("01", "00") + at(SAID, 1, 2) + at(STORMS, *range(3, 30)),  # said once, at the start
        at(SAID, 1) + at(STORMS, *range(3, 30)),  # too few lines to have a pace
        at(STORMS, *range(3, 30)),
    ],
)
def test_idle_components_are_not_reported(text):
    assert named(text) == []


def test_a_log_that_ends_early_is_reported_with_a_next_step():
    long, short = at(STORMS, *range(1, 40)), at(STORMS, *range(1, 10))
    assert named(long, short, long) == [("a log that ends before the others", [], False)]
    assert named(long, short + STOP.format("09", "50"), long) == []
    assert named(long, at(STORMS, *range(1, 38)), long) == []


def beats(last):
    return "".join(
        f"2015-08-03 15:{each // 60:02d}:{each % 60:02d}.000 b.s.t.ShellBolt [DEBUG] BOLT - current time : {1438607000000 + each * 1000}, last heartbeat : {1438607000000 + last(each) * 1000}, worker timeout (ms) : 600000\n"
        for each in range(60)
    )


def test_a_child_without_heartbeats_is_reported_with_a_next_step():
    assert named(beats(lambda each: min(each, 20))) == [("a child that answers no heartbeat", [], False)]
    assert named(beats(lambda each: each - each % 3)) == []
    assert named(beats(lambda each: each if each > 50 else 0)) == []  # it has answered again
