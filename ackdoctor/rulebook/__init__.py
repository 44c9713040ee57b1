"""The rulebook: one page of `rules/` holds a rule's metadata, its manual and its example.

Commands that select rules or label findings read only the heads of the pages (`rule`).  Whole pages (`page`) and
executable cases (`cases`) need a Markdown parser; import them only where they are used.
"""

from ackdoctor.rulebook.rule import (
    RULE_URL,
    Rule,
    find,
    load_metadata,
    locate,
    rule_name,
    rule_severity,
    rule_url,
    survey,
)

__all__ = [
    "RULE_URL",
    "Rule",
    "find",
    "load_metadata",
    "locate",
    "rule_name",
    "rule_severity",
    "rule_url",
    "survey",
]
