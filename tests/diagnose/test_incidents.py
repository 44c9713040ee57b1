"""Each public incident with a log is recognised, with its frames and a useful next step."""

import io
import json
from pathlib import Path

import pytest

from ackdoctor.diagnose.diagnosis import Places, diagnose
from ackdoctor.reporters import Context, Sources
from ackdoctor.reporters.diagnosis import document, screen
from tests.diagnose.incidents import GC, INCIDENTS


def found_in(name, text):
    return diagnose(text.splitlines(), Places((name,), [0]))


@pytest.mark.parametrize("incident", INCIDENTS, ids=[each.source for each in INCIDENTS])
def test_an_incident_is_recognised(incident):
    found = found_in(incident.name, incident.text)
    assert [sign.symptom.name for sign in found.signs] == incident.symptoms
    [sign] = found.signs
    assert sign.components == incident.components
    assert [frame.text for cause in sign.causes for frame in cause.evidence][:1] == [incident.frame][
        : bool(incident.frame)
    ]
    assert any(incident.step in step for step in sign.symptom.next)


@pytest.mark.parametrize("incident", INCIDENTS, ids=[each.source for each in INCIDENTS])
def test_an_incident_fits_80_columns_except_for_its_evidence(incident):
    found, stream = found_in(incident.name, incident.text), io.StringIO()
    places = Places((incident.name,), [0])
    screen(found, stream, Context(sources=Sources(root=Path())), {}, places)
    evidence = (
        "innermost cause",
        "    at ",
        "    File ",
        "  text: ",
        "  command: ",
        "      at ",
        "      File ",
    )
    wide = [
        line
        for line in stream.getvalue().splitlines()
        if len(line) > 80 and not line.startswith(evidence) and "innermost cause" not in line
    ]
    assert wide == []
    stream = io.StringIO()
    document(found, stream, places)
    assert [each["name"] for each in json.loads(stream.getvalue())["symptoms"]] == incident.symptoms


@pytest.mark.parametrize(
    "pause",
    ["Pause Young (Normal) (G1 Evacuation Pause) 900M->212M(4096M)", "Pause Full (System.gc()) 90M->20M(4096M)", "Pause Full (Metadata GC Threshold) 90M->20M(4096M)"],
)  # fmt: skip
def test_a_gc_log_of_a_heap_with_room_has_no_symptom(pause):
    assert found_in("gc.log", GC.format(1, pause) + GC.format(2, pause)).signs == ()


# what has an exception: one of the same time in the same words, from the same supervisor, is the same one
THROWN = [each for each in INCIDENTS if each.frame]


@pytest.mark.parametrize("incident", THROWN, ids=[each.source for each in THROWN])
def test_three_repetitions_of_an_incident_count_three_times(incident):
    [once] = found_in(incident.name, incident.text).signs
    [thrice] = found_in(incident.name, incident.text * 3).signs
    assert thrice.count == 3 * once.count
