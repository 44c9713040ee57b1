"""The guarantee of a topology beside what a run shows."""

import pytest

from ackdoctor.model.topology import Word
from ackdoctor.model.trace import Outcomes
from ackdoctor.reporters.promise import Promise, matching
from tests.reporters.topologies import graph, verdict, words

HEAD = "WordCount (topologies/words.py:9) promises at least once; "


def lines(*outcomes: Outcomes, complete: bool = True, lower: Word = Word.AT_LEAST_ONCE) -> list[str]:
    return list(
        Promise(
            topologies=(words(verdict(lower)),), outcomes=outcomes, complete=complete, paths=("src",)
        ).lines()
    )


@pytest.mark.parametrize(
    ("run", "text"),
    [
        (
            Outcomes(spout="words", ids=10_000, completed=10_000, failed=3924, replayed=3924),
            "words: 3,924 of 10,000 messages failed or timed out, 3,924 of them were emitted again; 0 lost",
        ),
        (
            Outcomes(spout="words", ids=10, completed=10, repeated=2),
            "words: 0 of 10 messages failed or timed out; 0 lost; 2 completed more than once",
        ),
        (
            Outcomes(spout="words", ids=10, completed=7, failed=3, lost=3),
            "words: 3 of 10 messages failed or timed out, 0 of them were emitted again; "
            "3 never completed: the promise is broken, or the run ended before the replay",
        ),
        (
            Outcomes(spout="words", ids=10, completed=8, failed=2, replayed=2, open=2),
            "words: 2 of 10 messages failed or timed out, 2 of them were emitted again; 2 open at the end",
        ),
    ],
    ids=["replayed", "repeated", "lost", "open"],
)
def test_the_run_is_beside_the_guarantee(run, text):
    assert lines(run) == [HEAD + text]


def test_a_run_with_missing_rows_shows_no_absence_of_losses():
    run = Outcomes(spout="words", ids=10, completed=10)
    assert lines(run, complete=False)[0].endswith("0 lost of those seen, but parts of the run are missing")


def test_at_most_once_is_not_broken_by_a_loss():
    run = Outcomes(spout="words", ids=10, completed=9, failed=1, lost=1)
    assert lines(run, lower=Word.AT_MOST_ONCE)[0].endswith("; 1 never completed")


def test_a_run_without_message_ids_shows_nothing():
    assert lines() == [f"{HEAD}the run shows no message id, so it can show no loss"]


def test_the_topology_with_most_of_the_components_is_meant():
    first, second = words(), graph([("words", "store")])
    assert matching([first, second], ["words", "count"]) == (first,)
    assert matching([first, second], ["WordSpout"]) == (first,)
    assert matching([first, second], ["other"]) == ()


def test_a_run_of_another_topology_is_said_to_be_so():
    nothing = Promise(topologies=(), outcomes=(), complete=True, paths=("src", "conf"))
    assert list(nothing.lines()) == ["no topology under src, conf has a component of this run"]
