"""Methods of a Java class that only its file calls: their overloads, their calls, and the other files of the package.

Which overload a call runs is known if the types of all arguments are exactly those of its parameters: such an overload is
the most specific one.  A private method has its callers in its file; one without a modifier may have them in its package.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from ackdoctor.fixes.document import SCOPES, Document, Node, NoFix, fits, need
from ackdoctor.model.source import decode_leniently, read_file

__all__ = ["calls_of", "has_overload", "types_of"]

_LIMIT = 4_000_000  # bytes of a file
_SUFFIXES = (".java", ".kt", ".groovy", ".scala")
_CAST = re.compile(r"\(\s*([A-Z][\w.]*(?:<[\w\s,.?<>]*>)?(?:\[\])*)\s*\)\s*[\w.]+(?:\([^()]*\))?")
_LITERALS = {"String": r'"(?:[^"\\]|\\.)*"', "int": r"-?\d+", "long": r"-?\d+L", "boolean": r"true|false"}
_PACKAGE = re.compile(r"^\s*package\s+([\w.]+)\s*;", re.MULTILINE)
_CLASS = re.compile(r"\bclass\s+(\w+)(?:<[^{]*?>)?(?:\s+extends\s+(?:\w+\.)*(\w+))?")


def calls_of(document: Document, function: Node) -> list[Node]:
    """Return the calls of a method; raise NoFix if there are none, or others may be in other files, or one is uncertain."""
    scope, root, name = need(function.nearest("class")), need(document.root), function.name
    private = _is_private(document, function)
    named = [each for each in scope.children if each.kind == "function" and each.name == name]
    calls = [node for node in root.calls(name) if _is_own(document, node)]
    fits(calls and not _is_mentioned(document, scope, named, calls, private=private))
    if not private:
        owner = scope.parent.name if scope.parent is not None else ""
        others = _callers_elsewhere(document, owner, name)
        if others is None or others:
            why = f"{others} may call it" if others else "the files of its package are unknown"
            document.refusal = f"`{name}` is not private, and {why}"
            raise NoFix
    if len(named) == 1:
        return calls
    fits(not any("..." in _head(document, each) for each in named))
    wider = len(types_of(document, function)) + 1
    exact = any(len(types_of(document, each)) == wider for each in named if each is not function)
    targets = [_overload(document, named, call, exact=exact) for call in calls]
    if None in targets:
        document.refusal = f"which `{name}` a call runs is unknown"
        raise NoFix
    return need([call for call, target in zip(calls, targets, strict=True) if target is function] or None)


def has_overload(document: Document, function: Node, more: str) -> bool:
    """Whether another method has the name of this one, and its parameters behind one of the type `more`."""
    scope = function.nearest("class")
    wanted = [_erased(more), *types_of(document, function)]
    return any(
        node is not function and node.name == function.name and types_of(document, node) == wanted
        for node in (scope.children if scope is not None else ())
        if node.kind == "function"
    )


def types_of(document: Document, function: Node) -> list[str]:
    """Return the types of the parameters of a method, without type arguments."""
    nodes = (each for each in function.walk() if each.kind == "parameter")
    return [_declared(document, each) for each in nodes if each.nearest(*SCOPES) is function]


def _declared(document: Document, parameter: Node) -> str:
    code = re.sub(r"@\w+(?:\([^)]*\))?\s*", "", document.source(parameter))
    return _erased(re.sub(rf"\b{parameter.name}\b", "", code.removeprefix("final ")))


def _erased(code: str) -> str:
    while "<" in code and (shorter := re.sub(r"<[^<>]*>", "", code)) != code:
        code = shorter
    return re.sub(r"\s+", "", code)


# ---- overloads ----


def _overload(document: Document, named: list[Node], call: Node, *, exact: bool) -> Node | None:
    """Return the overload whose parameters have exactly the types of the arguments.

    If the types need not be exact, the only overload with as many parameters is the right one.
    """
    given = call.arguments
    types = [_type_of(document, call, each) for each in given]
    fitting = [each for each in named if len(types_of(document, each)) == len(given)]
    if len(fitting) == 1 and (not given or not exact):
        return fitting[0]
    return next((each for each in fitting if types_of(document, each) == types), None)


def _type_of(document: Document, call: Node, argument: Node) -> str:
    """Return the type of an argument that is a cast, a text, or a variable that is declared once; "" for another one."""
    code = document.source(argument).strip()
    if cast := _CAST.fullmatch(code):
        return _erased(cast[1])
    for kind, literal in _LITERALS.items():
        if re.fullmatch(literal, code):
            return kind
    function = call.nearest("function")
    if function is None or not re.fullmatch(r"\w+", code):
        return ""
    declared = [
        _declared(document, each)
        for each in function.walk()
        if each.kind == "parameter" and each.name == code
    ]
    local = rf"([A-Za-z][\w.]*(?:<[\w\s,.?<>]*>)?(?:\[\])*)\s+{code}\s*[=;:]"
    declared += [
        _erased(each)
        for each in re.findall(rf"(?<![\w.]){local}", document.source(function))
        if each not in ("return", "var", "throw", "new")
    ]
    shadowed = re.search(rf"\b{code}\s*(?:,\s*\w+\s*)*\)?\s*->", document.source(function))
    return declared[0] if len(declared) == 1 and not shadowed else ""


# ---- callers ----


def _head(document: Document, function: Node) -> str:
    return document.text[function.start : function.children[-1].start]


def _is_private(document: Document, function: Node) -> bool:
    """Return whether a method is private; raise NoFix if code out of sight may call or override it."""
    head = _head(document, function)
    if re.search(r"\bprivate\b", head):
        return True
    owner = need(need(function.nearest("class")).parent)  # an anonymous class has a body alone
    fits(owner.name and re.search(rf"\bclass\s+{owner.name}\b", document.source(owner)))
    fits(not re.search(r"\b(?:public|protected|abstract|native)\b|@", head))
    return False


def _is_own(document: Document, call: Node) -> bool:
    first = call.children[0] if call.children else None
    return first is None or first.kind != "receiver" or document.source(first) == "this"


def _is_mentioned(
    document: Document, scope: Node, named: list[Node], calls: list[Node], *, private: bool
) -> bool:
    """Whether the file may call a method in another way, as in `this::send` or through another object."""
    name = calls[0].name
    if re.search(rf"::\s*{name}\b", document.text):
        return True
    if not private:
        return len(re.findall(rf"\b{name}\s*\(", document.text)) != len(named) + len(calls)
    kind = rf"\b{scope.parent.name if scope.parent is not None else ''}(?:<[^;=()]*>)?\s+"
    other = rf"\.this\s*\.\s*{name}\s*\(|{kind}(\w+)\b(?=[\s\S]*\b\1\.{name}\s*\()"
    return re.search(other, document.text) is not None


def _callers_elsewhere(document: Document, scope: str, name: str) -> str | None:
    """Return the file of the package that may call or override a method, "" if there is none; None without a package."""
    texts = dict(_of_package(document)) if document.place is not None else {}
    if document.place is None or not texts:
        return None
    files = {**texts, document.place: document.text}
    pairs = {(each[1], each[2]) for text in files.values() for each in _CLASS.finditer(text) if each[2]}
    above, below = {scope}, {scope}
    for _ in range(len(pairs)):
        above |= {base for name, base in pairs if name in above}
        below |= {name for name, base in pairs if base in below}
    kin = rf"\bclass\s+(?:{'|'.join(above)})\b|\b(?:class|extends|new)\s+(?:\w+\.)*(?:{'|'.join(below)})\b"
    for place, text in texts.items():
        if place == document.place:
            continue
        qualified = re.search(rf"(?<!\bthis)\s*\.\s*{name}\s*\(|::\s*{name}\b", text)
        if qualified or (re.search(rf"\b{name}\s*\(", text) and re.search(kin, text)):
            return place.name
    return ""


def _of_package(document: Document) -> Iterator[tuple[Path, str]]:
    """Yield the files of a package with their texts, in all source folders of the module; none if one cannot be read."""
    place, found = document.place, _PACKAGE.search(document.text)
    if place is None:
        return
    package = Path(*found[1].split(".")) if found is not None else Path()
    folder = place.parent
    if found is not None and folder.parts[-len(package.parts) :] != package.parts:
        return
    base = folder.parents[len(package.parts) - 1] if package.parts else folder
    folders = {folder}
    if base.parent.parent.name == "src":  # src/main/java
        folders |= {each / package for each in base.parent.parent.glob("*/*")}
    read = []
    for each in sorted(path for folder in folders if folder.is_dir() for path in folder.iterdir()):
        if each.suffix in _SUFFIXES:
            try:
                read.append((each, decode_leniently(read_file(str(each), _LIMIT), cookie=False)))
            except OSError:
                return
    yield from read
