"""What a report says of roots: what the value that is left tells, and who is to blame."""

from ackdoctor.model.verdict import Culprit, Residue, TupleTree, Verdict
from ackdoctor.reporters.context import printable
from ackdoctor.spark.tables import Analysis, TreeCount

__all__ = ["named", "tells"]

_UNBEGUN = "no __ack_init of it was seen"
_LOST = "a message was lost on its way"


def tells(kind: TreeCount, analysis: Analysis) -> str:
    """What is left of such roots tells, also where the acker has dropped it since; '' where nothing is."""
    if analysis.logged and kind.verdict == Verdict.ORPHAN.value:
        return _UNBEGUN
    alike = [
        tree
        for tree in analysis.tally.trees
        if (tree.verdict.value, tree.residue.value) == (kind.verdict, kind.residue)
    ]
    if alike and all(tree.culprits and all(each.lost for each in tree.culprits) for tree in alike):
        return _LOST
    return "" if kind.residue == Residue.NONE.value else kind.residue


def named(tree: TupleTree) -> str:
    """Who is to blame for a tree: `sql acked it 2x`, or what the value tells."""
    if not tree.culprits:
        return tree.residue.value
    said = dict.fromkeys(printable(_did(culprit)) for culprit in tree.culprits)
    return ", ".join(said) + (" (or others)" if tree.ambiguous else "")


def _did(culprit: Culprit) -> str:
    who = culprit.component or (f"task {culprit.task}" if culprit.task else "a bolt")
    if culprit.lost:
        return f"{'a' if culprit.lost == 'tuple' else 'the'} {culprit.lost} of {who} was lost"
    return f"{who} acked it {culprit.acks}x"
