"""Components in other processes: which script a multilang command runs.

Storm starts the command of a `ShellBolt` or `ShellSpout` in the resources of the jar, so a script is a file name that says
nothing about where the project keeps it.  A Java class passes the command to the constructor of its base class.
"""

from collections.abc import Iterator, Mapping, Sequence

from ackdoctor.flow.program import Program
from ackdoctor.model.cfg import (
    SUPER,
    Attr,
    Bind,
    Build,
    Call,
    ClassInfo,
    Expr,
    Function,
    Global,
    Literal,
    Mix,
    Name,
    Unit,
)
from ackdoctor.model.topology import Gap, Place

SHELL_CLASSES = frozenset(
    "ShellBolt ShellSpout RichShellBolt RichShellSpout FluxShellBolt FluxShellSpout GenericBolt GenericSpout".split()
)
_SCRIPTS = (".py", ".pex", ".js", ".rb", ".php", ".pl", ".sh", ".R", ".lua")
_RUNNERS = frozenset({"streamparse_run", "streamparse.run", "pystorm.run"})  # the next word is a class
_CONSTRUCTOR = "<init>"
_MAX_CONSTRUCTORS = 20  # that call each other


def script_of(words: Sequence[str]) -> str:
    """The script, module or class that a command runs: "count.py" of `python -u count.py`; "" if there is none.

    A class is one that a runner of streamparse is given: "bolts.count.CountBolt" of `streamparse_run bolts.count.CountBolt`.
    """
    parts = [part for word in words for part in word.split()]
    for index, part in enumerate(parts):
        following = parts[index + 1] if index + 1 < len(parts) else ""
        if part.rpartition("/")[2] in _RUNNERS:
            return next((word for word in parts[index + 1 :] if "." in word and not word.startswith("-")), "")
        if part == "-m" and following not in _RUNNERS:
            return following
        if part.endswith(_SCRIPTS):
            return part
    return ""


def shell_script(program: Program, cls: ClassInfo) -> str | Gap | None:
    """The script of a class that extends `ShellBolt` or `ShellSpout`, or why it is not known; None for any other class."""
    if not any(_is_shell(program, each) for each in program.lineage(cls).order):
        return None
    constructors = cls.named(_CONSTRUCTOR) or (None,)
    found = {_script(program, cls, constructor) for constructor in constructors}
    if len(found) == 1 and "" not in found:
        return found.pop()
    return Gap(f"the constructor of {cls.name} decides which script it runs", Place(cls.path, cls.head.line))


def _is_shell(program: Program, cls: ClassInfo) -> bool:
    return any(
        isinstance(symbol, str) and symbol.rpartition(".")[2] in SHELL_CLASSES
        for base in cls.bases
        for symbol in program.resolve(program.units[cls.path], base)
    )


def _script(program: Program, cls: ClassInfo, constructor: Function | None) -> str:
    """Follow the constructors from a class to the shell class; "" if the command is computed."""
    arguments: tuple[Expr, ...] = ()
    for _ in range(_MAX_CONSTRUCTORS):
        if constructor is None:  # the default constructor calls that of the base class
            called, arguments = True, ()
        else:
            names = dict(zip([param.name for param in constructor.params[1:]], arguments, strict=False))
            delegated = _delegated(program, constructor, names)
            if delegated is None:
                return ""
            called, arguments = delegated
        if called:
            if _is_shell(program, cls):
                return script_of(list(_words(arguments)))
            order = program.lineage(cls).order
            if len(order) == 1:
                return ""
            cls = order[1]
        constructor = next(
            (each for each in cls.named(_CONSTRUCTOR) if len(each.params) == len(arguments) + 1), None
        )
        if constructor is None and arguments:
            return ""
    return ""


def _delegated(
    program: Program, constructor: Function, names: Mapping[str, Expr]
) -> tuple[bool, tuple[Expr, ...]] | None:
    """Whether a constructor calls `super(...)`, not `this(...)`, and the arguments in terms of the caller's."""
    unit = program.units[constructor.path]
    known: dict[str, Expr] = dict(names)

    def expanded(expr: Expr) -> Expr:
        match expr:
            case Name(id=name):
                return known.get(name, expr)
            case Build(kind=kind, items=items):
                return Build(kind, tuple(map(expanded, items)))
            case Mix(op="+", parts=parts):
                return Mix("+", tuple(map(expanded, parts)))
            case _:
                return _constant(program, unit, expr) or expr

    supers: set[Expr] = set()
    for step in constructor.cfg.steps:
        match step.op:
            case Call(func=Global(id=callee), result=result) if callee == SUPER:
                supers.add(result)
            case Call(func=Attr(obj=obj, name=name), args=args) if name == _CONSTRUCTOR:
                if obj in supers or obj == Name(constructor.params[0].name):
                    return obj in supers, tuple(expanded(arg.value) for arg in args)
            case Bind(target=Name(id=local), value=value):
                known[local] = expanded(value)
            case _:
                pass
    return (True, ())


def _constant(program: Program, unit: Unit, expr: Expr) -> Expr | None:
    """The literal that a static field of the project holds."""
    if isinstance(expr, Attr):
        for symbol in program.resolve(unit, expr.obj):
            if isinstance(symbol, ClassInfo) and isinstance(symbol.attrs.get(expr.name), Literal):
                return symbol.attrs[expr.name]
    return None


def _words(arguments: Sequence[Expr]) -> Iterator[str]:
    """The words of a command that the files decide."""
    for argument in arguments:
        if isinstance(argument, Build):
            yield from _words(argument.items)
            continue
        parts = argument.parts if isinstance(argument, Mix) and argument.op == "+" else (argument,)
        words = [part.value for part in parts if isinstance(part, Literal) and isinstance(part.value, str)]
        if len(words) == len(parts):
            yield "".join(words)
