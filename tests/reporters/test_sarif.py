"""SARIF: the shape that code scanning accepts, and its limits."""

import io
import json
import os
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import jsonschema
import pytest

from ackdoctor.model.finding import PathWitness, Report, Unreadable
from ackdoctor.model.source import Site, Span
from ackdoctor.reporters import Context, Sources, machine, reporter
from tests.reporters.samples import IDLE, MISSING, REPORT, RUN, context, site
from tests.reporters.test_screens import PAGE

# The part of the 2.1.0 schema that we write: no other key may appear, and every key that code
# scanning needs is required.  The golden file has been checked against the official schema by hand.
TEXT = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string", "minLength": 1}}}
NATURAL = {"type": "integer", "minimum": 1}


def closed(required: str, **properties: object) -> dict[str, object]:
    return {
        "type": "object",
        "properties": properties,
        "required": required.split(),
        "additionalProperties": False,
    }


def many(items: object, least: int = 0) -> dict[str, object]:
    return {"type": "array", "items": items, "minItems": least}


REGION = closed(
    "startLine startColumn", startLine=NATURAL, startColumn=NATURAL, endLine=NATURAL, endColumn=NATURAL
)
ARTIFACT = closed("uri", uri={"type": "string", "pattern": r"^[!-~]+$"}, uriBaseId={"const": "%SRCROOT%"})
LOCATION = closed(
    "physicalLocation",
    physicalLocation=closed("artifactLocation", artifactLocation=ARTIFACT, region=REGION),
    logicalLocations=many(
        closed("fullyQualifiedName kind", fullyQualifiedName={}, kind={"const": "function"})
    ),
    message=TEXT,
)
LEVEL = {"enum": ["error", "warning", "note"]}
NOTIFICATION = closed(
    "level descriptor message",
    level=LEVEL,
    descriptor=closed("id", id={}),
    message=TEXT,
    locations=many(LOCATION),
)
RULE = closed(
    "id name shortDescription fullDescription helpUri help defaultConfiguration properties",
    id={"pattern": "^ACK[0-9]{3}$"},
    name={"pattern": "^[A-Z][A-Za-z]+$"},
    shortDescription=TEXT,
    fullDescription=TEXT,
    helpUri={"type": "string", "pattern": "^https://"},
    help=closed("text markdown", text={"type": "string"}, markdown={"type": "string"}),
    defaultConfiguration=closed("level", level=LEVEL),
    properties={"required": ["tags", "precision", "problem.severity"]},
)
STEP = closed(
    "location executionOrder nestingLevel",
    location=LOCATION,
    executionOrder=NATURAL,
    nestingLevel={"type": "integer", "minimum": 0},
    state=closed("tuple", tuple=TEXT),
)
RESULT = closed(
    "ruleId level message locations partialFingerprints properties",
    ruleId={"pattern": "^ACK[0-9]{3}$"},
    ruleIndex={"type": "integer", "minimum": 0},
    level=LEVEL,
    message=TEXT,
    locations=many(LOCATION, least=1),
    codeFlows=many(
        closed("threadFlows", threadFlows=many(closed("locations", locations=many(STEP, least=1)), 1))
    ),
    partialFingerprints={"type": "object", "additionalProperties": {"type": "string", "minLength": 1}},
    properties=closed(
        "confidence precision dialect",
        confidence={},
        precision={},
        dialect={},
        evidence={"const": "tree"},
        seen=NATURAL,
        delivery={"type": "string"},
        root={"type": "string", "pattern": "^-?[0-9]+$"},
        left=many({"type": "string"}),
        test={"type": "string"},
    ),
)
DRIVER = closed(
    "name version semanticVersion rules notifications",
    name={"const": "ackdoctor"},
    version={"type": "string"},
    semanticVersion={"type": "string"},
    rules=many(RULE),
    notifications=many(closed("id", id={"type": "string"})),
)
SCHEMA = closed(
    "$schema version runs",
    **{"$schema": {"type": "string"}},
    version={"const": "2.1.0"},
    runs=many(
        closed(
            "tool results columnKind invocations originalUriBaseIds",
            tool=closed("driver", driver=DRIVER),
            results=many(RESULT),
            columnKind={"const": "unicodeCodePoints"},
            invocations=many(
                closed(
                    "executionSuccessful toolExecutionNotifications",
                    executionSuccessful={"const": True},
                    toolExecutionNotifications=many(NOTIFICATION),
                )
            ),
            originalUriBaseIds={"required": ["%SRCROOT%"]},
        ),
        least=1,
    ),
)


def run_of(report: Report, seen: Context | None = None) -> dict[str, Any]:
    stream = io.StringIO()
    reporter("sarif")(report, stream, replace(seen or context(), pages=lambda: [PAGE]))
    log = json.loads(stream.getvalue())
    jsonschema.validate(log, SCHEMA)
    run: dict[str, Any] = log["runs"][0]
    return run


def test_a_full_report_is_valid_sarif():
    results = run_of(REPORT)["results"]
    assert [result["ruleId"] for result in results] == ["ACK101", "ACK103", "ACK901"]
    assert [result.get("ruleIndex") for result in results] == [0, None, None]
    assert [len(result.get("codeFlows", [])) for result in results] == [1, 1, 0]


def test_a_report_of_a_run_is_valid_sarif():
    seen, leak = run_of(RUN)["results"]
    assert seen["properties"]["root"] == "-6722594615019711369"
    assert [len(result.get("codeFlows", [])) for result in (seen, leak)] == [1, 0]


def test_an_empty_report_is_valid_sarif():
    assert run_of(Report())["results"] == []


def test_the_primary_region_stays_on_one_line():
    wide = replace(MISSING, site=Site("bolts/enrich.py", Span(9, 5, 14, 22)))
    location = run_of(Report(findings=(wide,)))["results"][0]["locations"][0]
    assert location["physicalLocation"]["region"] == {
        "startLine": 9,
        "startColumn": 5,
        "endLine": 9,
        "endColumn": 28,
    }


@pytest.mark.parametrize(
    ("path", "artifact"),
    [
        ("a b/ü.py", {"uri": "a%20b/%C3%BC.py", "uriBaseId": "%SRCROOT%"}),
        ("\udcff.py", {"uri": "%FF.py", "uriBaseId": "%SRCROOT%"}),
        ("../ü.py", {"uri": f"file://{quote(os.path.realpath('ü.py'))}"}),
        ("/opt/x.py", {"uri": "file:///opt/x.py"}),
    ],
)
def test_paths_are_relative_addresses(path, artifact):
    report = Report(findings=(replace(IDLE, site=site(path, 1, 1, 2)),))
    location = run_of(report)["results"][0]["locations"][0]
    assert location["physicalLocation"]["artifactLocation"] == artifact


def test_a_link_beside_the_root_has_its_own_name(tmp_path):
    (tmp_path / "link.py").symlink_to("elsewhere.py")
    beside = replace(context(), sources=Sources(root=tmp_path / "root"))
    report = Report(findings=(replace(IDLE, site=site("../link.py", 1, 1, 2)),))
    location = run_of(report, beside)["results"][0]["locations"][0]
    assert location["physicalLocation"]["artifactLocation"] == {"uri": (tmp_path / "link.py").as_uri()}


def test_a_file_that_could_not_be_read_is_a_notification():
    unread = (
        Unreadable(path="a.py", line=3, column=7, reason="invalid syntax"),
        Unreadable(path="b", line=0, column=0, reason="permission denied"),
    )
    notes = run_of(Report(unreadable=unread))["invocations"][0]["toolExecutionNotifications"]
    assert [(note["message"]["text"], note["level"]) for note in notes] == [
        ("invalid syntax", "error"),
        ("permission denied", "error"),
    ]
    assert notes[0]["locations"][0]["physicalLocation"]["region"] == {"startLine": 3, "startColumn": 7}
    assert "region" not in notes[1]["locations"][0]["physicalLocation"]


def test_long_texts_and_long_paths_are_cut_as_github_would():
    long = replace(
        MISSING, message="m" * 5_000, evidence=PathWitness(steps=MISSING.evidence.steps * 400), help=""
    )
    result = run_of(Report(findings=(long,)))["results"][0]
    assert result["message"]["text"] == "m" * 1_023 + "…"
    assert len(result["codeFlows"][0]["threadFlows"][0]["locations"]) == 1_000


def test_the_worst_findings_stay_within_the_limit(monkeypatch):
    monkeypatch.setattr(machine, "_MAX_RESULTS", 1)
    run = run_of(Report(findings=(IDLE, MISSING)))
    assert [result["ruleId"] for result in run["results"]] == ["ACK101"]
    assert run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"] == (
        "1 findings of the lowest severity are left out: a run holds 1"
    )
