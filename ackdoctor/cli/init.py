"""`ackdoctor init`: what a project needs for its first runs, as a diff, and written on request."""

import json
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from difflib import unified_diff
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from shlex import quote
from typing import Annotated, NamedTuple

import typer

from ackdoctor import __version__
from ackdoctor.cli.commands import Jobs, known_word, nonempty
from ackdoctor.cli.output import complain, complain_unread, context_for, destination, progress
from ackdoctor.config import Settings, settings_in
from ackdoctor.lint.baseline import entries_of, text_of
from ackdoctor.lint.result_cache import cache_folder
from ackdoctor.lint.run import lint
from ackdoctor.lint.run_settings import settings_file
from ackdoctor.lint.select import filter_report
from ackdoctor.model import ConfigError, UsageError
from ackdoctor.model.finding import Report, UnknownBase, counted
from ackdoctor.model.source import creating, replacing
from ackdoctor.reporters import printable

_BASELINE = "ackdoctor-baseline.json"
_CI = ("github", "gitlab", "none")
_HOOKS = """\
  - repo: local
    hooks:
      - id: ackdoctor
        name: ackdoctor
        entry: ackdoctor lint
        language: system
        types_or: [python, java, clojure, yaml]
        pass_filenames: false
"""
_GITHUB = """\
name: ackdoctor
on: [push, pull_request]
permissions:
  contents: read
jobs:
  ackdoctor:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with:
          python-version: "3.12"
      - run: {install}
      - run: ackdoctor lint --output-format github
"""
_GITLAB = """\
ackdoctor:
  image: python:3.12
  script:
    - {install}
    - ackdoctor lint --output-format gitlab --output-file gl-code-quality-report.json
  artifacts:
    when: always
    reports:
      codequality: gl-code-quality-report.json
"""


class Proposal(NamedTuple):
    """A file as it should be; `before` is None for a new file."""

    path: Path
    before: str | None
    after: str


@dataclass(slots=True, kw_only=True)
class Plan:
    """The files to write, and the next steps that only the user can take."""

    files: list[Proposal] = field(default_factory=list)
    steps: list[str] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class Init:
    """Propose settings, a baseline and CI lines for a project.

    Prints what it found and every file as a diff. It writes them only with --write, or if you answer yes on a terminal,
    and overwrites none; a table is added to the end of a pyproject.toml.

    Exit code: 0 proposed or written; 2 the work could not be done, or no component was found.
    """

    directory: Annotated[
        str, typer.Argument(metavar="DIR", help="The project's directory.", show_default=False)
    ] = "."
    write: Annotated[bool, typer.Option("--write", help="Write the files without a question.")] = False
    ci: Annotated[
        str | None,
        typer.Option(
            metavar="|".join(_CI),
            help="The CI to propose a job for. Default: what the directory or its git remote shows.",
        ),
    ] = None
    install: Annotated[
        str | None,
        typer.Option(
            metavar="SPEC",
            help="What the CI job passes to pip install. Default: where this installation came from.",
        ),
    ] = None
    jobs: Jobs = 0

    def __post_init__(self) -> None:
        """Raise UsageError for arguments that cannot be used."""
        nonempty("DIR", self.directory)
        if self.ci is not None:
            known_word("--ci", self.ci, _CI)
        if self.install is not None and not (self.install.strip() and self.install.isprintable()):
            raise UsageError(f"--install: {self.install!r} is not a requirement of pip")
        if not self.root.is_dir():
            fault = "not a directory" if self.root.exists() else "no such directory"
            raise UsageError(f"{self.directory}: {fault}")

    @property
    def root(self) -> Path:
        """The project's directory."""
        return Path(self.directory)

    def run(self) -> int:
        """Lint the directory, print the proposals, perhaps write them, and return the exit code."""
        settings = settings_file([self.directory], None, root=Path.cwd())
        report = self._report(settings)
        if not (report.components or report.topologies or report.unknown_bases):
            raise UsageError(f"no component and no topology under {self.directory}")
        plan = Plan()
        self._plan_settings(plan, report, settings)
        self._plan_hook(plan)
        self._plan_ci(plan)
        with destination() as stream:
            context = context_for(stream)
            stream.writelines(context.fitted(printable(line)) for line in _found(report))
            for each in plan.files:
                stream.write("\n")
                stream.writelines(f"{printable(line)}\n" for line in _diff(each))
        if not plan.files:
            complain("nothing to write")
        elif self.write or _confirmed(len(plan.files)):
            _write(self.root, plan.files)
        else:
            complain("nothing is written; `ackdoctor init --write` writes these files")
        for step in plan.steps:
            complain(step)
        return 0

    def _report(self, settings: Settings) -> Report:
        """Return the findings that a run with these settings would show, stamped."""
        cache = cache_folder([self.directory], settings, Path.cwd())[0]
        with progress("linting") as show:
            report = lint([self.root], settings, root=Path.cwd(), jobs=self.jobs, cache=cache, progress=show)
        for unread in report.unreadable:
            complain_unread(unread)
        return filter_report(report, settings, None)

    def _plan_settings(self, plan: Plan, report: Report, settings: Settings) -> None:
        baseline = self.root / _BASELINE
        accepts = bool(report.findings) and settings.baseline is None and not _exists(baseline)
        if settings.source is not None:
            plan.steps.append(f"{settings.source}: the settings stay as they are")
            if accepts:
                plan.steps.append(
                    f'to accept the findings of today, add `baseline = "{_BASELINE}"` to it, then run `ackdoctor lint --write-baseline`'
                )
            return
        lines = list(_settings_lines(report, accepts=bool(report.findings)))  # today or in the file
        if not lines:
            return
        if accepts:
            entries = entries_of(report.findings, baseline, root=Path.cwd())
            plan.files.append(Proposal(baseline, None, text_of(entries)))
        project = self.root / "pyproject.toml"
        plan.files.append(
            _with_table(project, lines)
            or Proposal(
                self.root / "ackdoctor.toml",
                None,
                "".join(f"{line.replace('{table}', '')}\n" for line in lines),
            )
        )

    def _plan_hook(self, plan: Plan) -> None:
        file = self.root / ".pre-commit-config.yaml"
        if _exists(file):
            if "ackdoctor" not in _text(file):
                plan.steps.append(f"{file}: stays as it is; the guide to CI has the lines of a hook")
        elif _exists(self.root / ".git"):
            plan.files.append(Proposal(file, None, f"repos:\n{_HOOKS}"))

    def _plan_ci(self, plan: Plan) -> None:
        ci = self.ci or _ci_of(self.root)
        if ci == "none":
            return
        if not ci:
            plan.steps.append("for a CI job name the CI: --ci github or --ci gitlab")
            return
        spec = self.install or _installed_from()
        if not spec:
            plan.steps.append("for a CI job name what it installs: --install SPEC, a requirement of pip")
            return
        install = f"pip install {quote(spec)}"
        if ci == "github":
            file, text = self.root / ".github" / "workflows" / "ackdoctor.yml", _GITHUB
        else:
            file, text = self.root / ".gitlab-ci.yml", _GITLAB
            if _exists(file):
                if "ackdoctor" in _text(file):
                    return
                file = self.root / ".gitlab" / "ackdoctor.yml"
                plan.steps.append(f"{self.root / '.gitlab-ci.yml'}: add `include: .gitlab/ackdoctor.yml`")
        if not _exists(file):
            # a YAML string: a requirement may hold a colon or a hash
            plan.files.append(
                Proposal(file, None, text.format(install=json.dumps(install, ensure_ascii=False)))
            )


# ---- what is found and proposed ----


def _found(report: Report) -> Iterator[str]:
    """Yield the size of the project, and the classes whose base is unknown."""
    parts = [counted(report.components, "component")]
    if report.topologies:
        places = {(judged.topology.place.path, judged.topology.name) for judged in report.topologies}
        parts.append(counted(len(places), "topology"))
    yield f"found {' and '.join(parts)} in {counted(len(report.files), 'file')}, {counted(len(report.findings), 'finding')}"
    yield from map(str, report.unknown_bases)


def _settings_lines(report: Report, *, accepts: bool) -> Iterator[str]:
    """Yield the lines of a settings file, without the name of its table."""
    if accepts:
        yield "# lint reports only findings that are not in this file"
        yield f'baseline = "{_BASELINE}"'
    bases = _by_base(report.unknown_bases)
    if bases:
        if accepts:
            yield ""
        yield "# Bases that ackdoctor does not know. If a class is a component, remove the # before its base and the table."
        yield "# [{table}extra-bases]"
        for base, first in bases.items():
            where = printable(f"{first.name} in {first.path}:{first.line}")
            yield f'# "{base}" = "{first.suggestion}"  # {where}'


def _by_base(unknown: Iterable[UnknownBase]) -> dict[str, UnknownBase]:
    """Return the first class of each base that the settings can name."""
    found: dict[str, UnknownBase] = {}
    for each in unknown:
        if all(part.isidentifier() for part in each.base.split(".")):
            found.setdefault(each.base, each)
    return found


def _with_table(file: Path, lines: Iterable[str]) -> Proposal | None:
    """Return pyproject.toml with our table at its end; None if there is no such file, or it could not be read then."""
    if not file.is_file():
        return None
    before = _text(file)
    end = "\r\n" if "\r\n" in before else "\n"
    table = [line.replace("{table}", "tool.ackdoctor.") for line in ("[tool.ackdoctor]", *lines)]
    gap = "" if not before or before.endswith("\n") else end
    after = f"{before}{gap}{end if before else ''}{end.join(table)}{end}"
    try:
        settings_in(file, after.encode("utf-8"))
    except (ConfigError, UnicodeEncodeError):
        return None
    return Proposal(file, before, after)


def _ci_of(root: Path) -> str:
    """Return the CI whose files are in the project, or whose host is its git remote; '' if none is found."""
    if _exists(root / ".gitlab-ci.yml"):
        return "gitlab"
    if _exists(root / ".github"):
        return "github"
    remotes = _text(root / ".git" / "config")
    return next((name for name in ("github", "gitlab") if name in remotes), "")


def _installed_from() -> str:
    """Return the requirement that installs this version where it came from; '' for a local directory or file.

    PEP 610: `direct_url.json` has the address of an installation that is not from an index.
    """
    try:
        origin = json.loads(distribution("ackdoctor").read_text("direct_url.json") or "null")
    except (PackageNotFoundError, ValueError):
        return ""
    if origin is None:
        return f"ackdoctor=={__version__}"
    version = origin.get("vcs_info", {})
    if {"vcs", "commit_id"} <= version.keys() and not origin["url"].startswith("file:"):
        return f"{version['vcs']}+{origin['url']}@{version['commit_id']}"
    return origin["url"] if origin["url"].startswith("https://") else ""


# ---- showing and writing ----


def _diff(proposal: Proposal) -> Iterator[str]:
    name = proposal.path.as_posix()
    before = (proposal.before or "").splitlines()
    origin = name if proposal.before is not None else os.devnull
    yield from unified_diff(before, proposal.after.splitlines(), origin, name, lineterm="")


def _confirmed(count: int) -> bool:
    """Ask on a terminal; elsewhere the answer is no."""
    if not (sys.stdin.isatty() and sys.stdout.isatty() and sys.stderr.isatty()):
        return False
    try:
        return typer.confirm(f"Write {counted(count, 'file')}?", err=True)
    except typer.Abort:
        raise KeyboardInterrupt from None


def _write(root: Path, files: Iterable[Proposal]) -> None:
    """Write the files; raise UsageError before the first one if any cannot be written as it was shown."""
    for each in files:
        if each.before is None and _exists(each.path):
            raise UsageError(f"{each.path}: the file has been created meanwhile; run the command again")
        if each.before is not None and _text(each.path) != each.before:
            raise UsageError(f"{each.path}: the file has changed meanwhile; run the command again")
        if not each.path.parent.resolve().is_relative_to(root.resolve()):
            raise UsageError(f"{each.path}: its directory is a link that leads out of {root}")
    for each in files:
        try:
            if each.before is None:
                each.path.parent.mkdir(parents=True, exist_ok=True)
            with (creating if each.before is None else replacing)(each.path) as stream:
                stream.write(each.after)
        except OSError as error:
            raise UsageError(f"{each.path}: cannot be written: {error.strerror}") from error
        complain(f"wrote {each.path}")


def _exists(path: Path) -> bool:
    """Whether there is anything of that name, also a link that leads nowhere."""
    return os.path.lexists(path)


def _text(path: Path) -> str:
    """Return a file's text with its line ends; '' for a file that cannot be read."""
    with suppress(OSError, UnicodeDecodeError):
        return path.read_bytes().decode("utf-8")
    return ""
