"""Which framework a topology runs on, and in which version, as far as imports and build files name it."""

import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from posixpath import basename, dirname
from typing import NamedTuple, TypeAlias

from ackdoctor.topology.texts import Texts

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Version: TypeAlias = tuple[int, ...]


class Names(NamedTuple):
    """What `frameworks.toml` says."""

    on_storm: frozenset[str]
    python: Mapping[str, str]
    imports: Mapping[str, str]
    jvm: Mapping[str, tuple[str, ...]]


@cache
def _names() -> Names:
    read = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    jvm = {row["name"]: tuple(row["artifacts"]) for row in read["jvm"]}
    return Names(frozenset(read["on_storm"]), read["python"], read["imports"], jvm)


class Versions(NamedTuple):
    """The versions that are possible: `low` and above, below `high`; () and None are open ends."""

    low: Version = ()
    high: Version | None = None


@dataclass(frozen=True, slots=True)
class Framework:
    """What a description such as "streamparse 3.4.0, storm 1.0.2" says: possible versions by name."""

    parts: Mapping[str, Versions]

    @property
    def is_storm(self) -> bool:
        """Whether the topology runs on Storm; a topology without a known framework is taken for one."""
        return not self.parts or bool(self.parts.keys() & (_names().on_storm | {"storm"}))

    def meets(self, condition: str) -> bool | None:
        """Whether a condition such as "storm>=1.0" or "heron" holds; None if the version is not known."""
        name, versions = _described(condition)
        own = self.parts.get(name)
        if own is None:
            if not (name == "storm" and self.is_storm):
                return False
            own = Versions()
        if own.low >= versions.low and (
            versions.high is None or (own.high is not None and own.high <= versions.high)
        ):
            return True
        apart = (own.high is not None and own.high <= versions.low) or (
            versions.high is not None and own.low >= versions.high
        )
        return False if apart else None


_PART = re.compile(
    r"(?P<name>[a-z]+)\s*(?P<sign>>=|==|<)?\s*(?P<one>\d[\d.]*)?(?:\s*(?:-|and)\s*(?P<two>\d[\d.]*))?"
)


@cache
def parsed(description: str) -> Framework:
    """Read a description: names with versions ("1.2.4"), bounds (">=3", "<3") or ranges ("1-2")."""
    parts = dict(_described(part) for part in description.lower().split(",") if part.strip())
    return Framework({name: versions for name, versions in parts.items() if name})


def _described(part: str) -> tuple[str, Versions]:
    found = _PART.match(part.strip().lower())
    if found is None:
        return "", Versions()
    name, sign, one, two = found["name"], found["sign"], found["one"], found["two"]
    low = _numbers(one or "")
    if not low:
        return name, Versions()
    if sign == ">=":
        return name, Versions(low)
    if sign == "<":
        return name, Versions((), low)
    return name, Versions(low, _next(_numbers(two or "") or low))


def _numbers(text: str) -> Version:
    return tuple(int(number) for number in re.findall(r"\d+", text)[:4])


def _next(version: Version) -> Version:
    """The first version after all that begin with these numbers."""
    return (*version[:-1], version[-1] + 1)


# ---- from imports and build files ----

_FLUX = "flux"  # a way to write a topology, no framework of its own
_JVM_FILES = ("pom.xml", "build.gradle", "build.gradle.kts", "build.sbt", "project.clj")
_PYTHON_FILES = re.compile(
    r"(^|/)(setup\.cfg|pyproject\.toml|Pipfile|[\w.\-]*requirements[\w.\-]*\.txt|virtualenvs/[^/]+\.txt)$"
)
_VERSION = r"""[\s"']*([\w.\-${}]+)"""


def framework_of(path: str, texts: Texts, imports: Iterable[str] = ()) -> str:
    """Describe the framework of a file: its imports, and the build files in its directory and above, nearest first.

    "" if nothing names one.  A Storm API may be Heron's or JStorm's: the build file tells.
    """
    imported = framework_of_imports(imports)
    built = {**_jvm_built(path, texts), **_python_built(path, texts)}
    own = next(iter(parsed(imported).parts), "") or next(
        (each for each in _names().python.values() if each in built), ""
    )
    if own in _names().on_storm:
        return _joined(
            {own: built.get(own, "")} | {name: built[name] for name in ("storm",) if built.get(name)}
        )
    if own in {"heron", "jstorm"}:
        return _joined({own: built.get(own, "")})
    jvm = next((name for name in _names().jvm if name in built), "")
    return _joined({jvm: built[jvm]}) if jvm and (built[jvm] or jvm != "storm") else imported or jvm


def framework_of_imports(imports: Iterable[str]) -> str:
    """Describe the framework that the imports of a file name; "" if they name none."""
    return next((found for name in imports if (found := _of_import(name))), "")


def _descriptions() -> frozenset[str]:
    """The names that a description of a framework begins with."""
    return (_names().on_storm | _names().jvm.keys()) - {_FLUX}


def _of_import(name: str) -> str:
    if name.partition(" ")[0].rstrip("<>=0123456789.") in _descriptions():
        return name  # a description already
    return next(
        (found for start, found in _names().imports.items() if name == start or name.startswith(f"{start}.")),
        "",
    )


def _joined(parts: Mapping[str, str]) -> str:
    return ", ".join(
        f"{name}{'' if not version or version[0] in '<>=' else ' '}{version}"
        for name, version in parts.items()
    )


def _jvm_built(path: str, texts: Texts) -> Mapping[str, str]:
    """The frameworks of the nearest build file that names one; a version may come from one above."""
    found: dict[str, str] = {}
    properties = tuple(texts.above(path, (*_JVM_FILES, "gradle.properties")))
    for file in texts.above(path, _JVM_FILES):
        here = dict(_jvm_versions(file, properties, texts))
        for name in found.keys() & here.keys() if found else here.keys():
            found[name] = found.get(name) or here[name]
    return found


def _python_built(path: str, texts: Texts) -> Mapping[str, str]:
    """The frameworks that the Python build files above a file name; the nearest one wins."""
    found: dict[str, str] = {}
    roots = {each: _root_of(each) for each in texts if _PYTHON_FILES.search(each)}
    for file in sorted(roots, key=lambda each: -len(roots[each])):
        if f"{path}".startswith(roots[file]):
            for name, version in _python_versions(texts[file].decode("utf-8", "replace")):
                found[name] = found.get(name) or version
    return found


def _root_of(file: str) -> str:
    """The directory of a requirements file with its slash; streamparse keeps them in `virtualenvs/NAME.txt`."""
    folder = dirname(file)
    folder = dirname(folder) if basename(folder) in {"virtualenvs", "requirements"} else folder
    return f"{folder}/" if folder else ""


def _python_versions(text: str) -> Iterator[tuple[str, str]]:
    for package, name in _names().python.items():
        pattern = (
            rf"""(?m)(?:^|["'\s/]){package}(?:\.git@|["']?\s*=\s*["']|\s*)([=<>~!^]*=?)\s*v?(\d[\d.]*)?"""
        )
        found = re.search(pattern, text)
        if found:
            sign, version = found[1], found[2] or ""
            if sign.startswith((">", "~", "^")):
                yield name, f">={version}" if version else ""
            elif sign.startswith("<"):
                yield name, f"<{version}" if version else ""
            else:
                yield name, version


def _jvm_versions(file: str, properties: tuple[str, ...], texts: Texts) -> Iterator[tuple[str, str]]:
    text = _without_comments(texts[file].decode("utf-8", "replace"))
    seen: set[str] = set()
    for name, artifacts in _names().jvm.items():
        for artifact in artifacts:
            if name in seen or (version := _version_of(artifact, text)) is None:
                continue
            seen.add(name)
            yield name, _followed(version, text, properties, texts)


def _without_comments(text: str) -> str:
    kept, *commented = text.split("<!--")
    text = kept + "".join(part.partition("-->")[2] for part in commented)
    return re.sub(r"^[ \t]*(?://|;).*$", "", text, flags=re.MULTILINE)


def _version_of(artifact: str, text: str) -> str | None:
    """The version of an artifact as a build file writes it; "" if it gives none, None if it has no such artifact."""
    pom = re.search(
        rf"<artifactId>\s*{artifact}\s*</artifactId>((?:(?!</dependency>|</parent>|<artifactId>).)*)",
        text,
        re.DOTALL,
    )
    if pom:
        version = re.search(r"<version>\s*([^<\s]+)\s*</version>", pom[1])
        return version[1] if version else ""
    for pattern in (
        rf":{artifact}:([\w.\-${{}}]+)",
        rf"""["']{artifact}["']\s*,\s*version\s*[:=]{_VERSION}""",
        rf'"{artifact}"\s*%{_VERSION}',
        rf"""[\[\s/]{artifact}\s+"([\w.\-]+)\"""",
    ):
        found = re.search(pattern, text)
        if found:
            return found[1]
    return "" if re.search(rf"""[:"'/]{artifact}["'\]]""", text) else None


def _followed(version: str, text: str, properties: tuple[str, ...], texts: Texts) -> str:
    """A version, or what its property says, in the same file or in one above; "" if it is not known."""
    for _ in range(3):
        if re.match(r"\d", version):
            return re.match(r"[\d.]*\d", version)[0]  # type: ignore[index]  # it starts with a digit
        name = version.strip("${}").removeprefix("project.ext.").removeprefix("rootProject.ext.")
        if not name:
            return ""
        places = [text, *(_without_comments(texts[each].decode("utf-8", "replace")) for each in properties)]
        version = next((found for each in places if (found := _property(name, each))), "")
    return ""


def _property(name: str, text: str) -> str:
    if name in {"project.version", "version", "pom.version"}:
        head = re.split(r"<(?:dependencies|dependencyManagement|build|modules|profiles|properties)\b", text)[
            0
        ]
        before, _, rest = head.partition("<parent>")
        parent, _, after = rest.partition("</parent>")
        places = (before, after, parent)
        return next((found[1] for each in places if (found := re.search(r"<version>\s*([^<\s]+)", each))), "")
    plain = re.escape(name)
    found = re.search(rf"<{plain}>\s*([^<\s]+)\s*</{plain}>", text) or re.search(
        rf"""(?m)\b{plain}["']?\s*[:=]\s*["']?([\w.\-]+)""", text
    )
    return found[1] if found else ""
