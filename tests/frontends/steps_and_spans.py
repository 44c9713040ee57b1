"""Helpers for lowered code of either language: its instructions, and the text that a span covers."""

from ackdoctor.model.cfg import Function
from tests.flow.cfg_dump import show_instr

__all__ = ["steps", "text_of"]


def steps(function: Function) -> list[str]:
    """The instructions as text, in order, without ENTRY, EXIT and RAISED."""
    return [show_instr(step.op) for step in function.cfg.steps[3:]]


def text_of(source: str, span: tuple[int, int, int, int]) -> str:
    """The text that a span covers."""
    line, column, end_line, end_column = span
    lines = source.splitlines(keepends=True)
    if line == end_line:
        return lines[line - 1][column - 1 : end_column - 1]
    middle = "".join(lines[line : end_line - 1])
    return lines[line - 1][column - 1 :] + middle + lines[end_line - 1][: end_column - 1]
