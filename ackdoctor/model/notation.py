"""Notation: how a language spells the code that a message quotes."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Notation:
    """The spellings of one language; `{0}` and `{1}` are operands."""

    own: str  # a method's own component
    catch: str  # the part of a `try` that handles exceptions
    constants: dict[object, str] = field(default_factory=dict)
    comparisons: dict[str, str] = field(default_factory=dict)  # those that are not `{0} op {1}`
    text_equals: str = "{0} == {1}"  # whether the first operand has the value of a string literal
    negation: str
    is_type: str
    creation: str = ""  # before the class of a new object


PYTHON = Notation(own="self", catch="except", negation="not {0}", is_type="isinstance({0}, {1})")
JAVA = Notation(
    own="this",
    catch="catch",
    constants={None: "null", True: "true", False: "false"},
    comparisons={"is": "{0} == {1}", "is not": "{0} != {1}"},
    text_equals="{0}.equals({1})",
    negation="!{0}",
    is_type="{0} instanceof {1}",
    creation="new ",
)
BY_LANGUAGE = {"python": PYTHON, "java": JAVA}
