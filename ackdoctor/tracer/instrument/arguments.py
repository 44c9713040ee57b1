"""Whether a call names an argument, read from the bytecode of the calling line.

On the wire, `emit(values)` and `emit(values, anchors=[])` are the same message; only one of them is an
oversight.  The instruction that made the call says how many arguments it passed and which by name.
"""

import dis
from types import CodeType

__all__ = ["passes"]


def passes(code: CodeType, lasti: int, name: str, position: int) -> bool:
    """Whether the call at `lasti` passes the parameter `name`, the `position`th after self.

    What cannot be told (`emit(*args, **kwargs)`) counts as passed: it may well be meant.
    """
    before = [step for step in dis.get_instructions(code) if step.offset <= lasti]
    for index in range(len(before) - 1, -1, -1):
        step = before[index]
        if step.opname.startswith("CALL") and step.opname != "CALL_INTRINSIC_1":
            return _passes(code, before, index, name, position)
        if step.opname not in {"CACHE", "PRECALL"}:
            return True
    return True


def _passes(code: CodeType, before: list[dis.Instruction], index: int, name: str, position: int) -> bool:
    call = before[index]
    if call.opname == "CALL_FUNCTION_EX" or not isinstance(call.arg, int):
        return True
    named = _names(code, before, index)
    return name in named or call.arg - len(named) > position


def _names(code: CodeType, before: list[dis.Instruction], index: int) -> tuple[str, ...]:
    """The keywords of a call: a constant that stands right before it."""
    for step in reversed(before[max(0, index - 3) : index]):
        if step.opname == "KW_NAMES" or (
            step.opname == "LOAD_CONST" and before[index].opname in {"CALL_KW", "CALL_FUNCTION_KW"}
        ):
            names = step.argval
            if not isinstance(names, tuple) and step.arg is not None:  # 3.11 and 3.12 give KW_NAMES no value
                names = code.co_consts[step.arg]
            return names if isinstance(names, tuple) else ()
        if step.opname not in {"CACHE", "PRECALL"}:
            break
    return ()
