"""The laws and rules that a heap report names for an entry exist."""

from ackdoctor.diagnose.symptoms import table
from ackdoctor.heap.signs import KINDS
from tests.rule_pages import load_rules

PAGES = load_rules()
CAUSES_OF_ALL = [
    *(cause for meaning in KINDS.values() for cause in meaning.causes),
    *(cause for symptom in table().symptoms for cause in symptom.causes),
]


def test_every_law_in_a_message_is_on_a_page():
    laws = {cause.law for cause in CAUSES_OF_ALL if cause.law}
    assert laws == {"L1", "L1b", "L4"}
    prose = "\n".join(page.text for page in PAGES.values())
    assert [law for law in sorted(laws) if f"(law {law})" not in prose] == []


def test_every_rule_that_is_named_has_a_page():
    assert {code for cause in CAUSES_OF_ALL for code in cause.rules} <= set(PAGES)
