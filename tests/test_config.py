"""Settings: the search for the file, the keys, and the errors."""

import errno
import pickle
from pathlib import Path

import pytest

from ackdoctor.config import Promise, RuleOptions, Settings, find_config, load_settings
from ackdoctor.model import ConfigError
from ackdoctor.model.finding import Confidence, Severity


def write_settings(folder: Path, text: str, name: str = "ackdoctor.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_every_key_reaches_its_field(tmp_path):
    path = write_settings(
        tmp_path,
        """
        [tool.ackdoctor]
        select = ["ACK1", "unanchored-emit"]
        ignore = ["ACK101"]
        extend-select = ["ACK901"]
        exclude = ["vendored"]
        extend-exclude = ["*_pb2.py"]
        min-severity = "error"
        min-confidence = "must"
        baseline = "known.json"
        output-format = "sarif"
        fatal-unreadable = true
        fix = true
        unsafe-fixes = true
        [tool.ackdoctor.per-file-ignores]
        "tests/**" = ["ACK3"]
        [tool.ackdoctor.extra-bases]
        "mylib.base.MyBolt" = "streamparse.Bolt"
        [tool.ackdoctor.dialect-version]
        streamparse = "2.1"
        [tool.ackdoctor.topology]
        require = "at-least-once"
        best-effort-streams = ["metrics"]
        [tool.ackdoctor.rules.missing-ack]
        on-missing-path = "fail"
        """,
        "pyproject.toml",
    )
    assert load_settings(path) == Settings(
        select=("ACK1", "unanchored-emit"),
        ignore=("ACK101",),
        extend_select=("ACK901",),
        exclude=("vendored",),
        extend_exclude=("*_pb2.py",),
        per_file_ignores={"tests/**": ("ACK3",)},
        extra_bases={"mylib.base.MyBolt": "streamparse.Bolt"},
        dialect_version={"streamparse": "2.1"},
        min_severity=Severity.ERROR,
        min_confidence=Confidence.MUST,
        baseline=tmp_path / "known.json",
        output_format="sarif",
        fatal_unreadable=True,
        fix=True,
        unsafe_fixes=True,
        topology=Promise("at-least-once", ("metrics",)),
        rules=RuleOptions("fail"),
        directory=tmp_path,
        source=path,
    )


def test_the_nearest_file_upward_applies(tmp_path):
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    outer = write_settings(tmp_path, "[tool.ackdoctor]\n", "pyproject.toml")
    assert find_config(inner) == outer
    nearer = write_settings(tmp_path / "a", "select = []\n")
    assert find_config(inner) == nearer


def test_a_pyproject_without_our_table_is_skipped(tmp_path):
    inner = tmp_path / "a"
    inner.mkdir()
    outer = write_settings(tmp_path, "[tool.ackdoctor]\n", "pyproject.toml")
    write_settings(inner, '[project]\nname = "uses-ackdoctor"\n', "pyproject.toml")
    assert find_config(inner) == outer


@pytest.mark.parametrize(
    "content", [b"[tool.x\n", "[tool.ackdoctor]\n".encode("utf-16")], ids=["TOML", "UTF-16"]
)
def test_a_pyproject_that_does_not_parse_is_an_error_whatever_it_names(tmp_path, content):
    (tmp_path / "pyproject.toml").write_bytes(content)
    with pytest.raises(ConfigError, match=r"pyproject\.toml: not (TOML|UTF-8): "):
        find_config(tmp_path)


def test_a_foreign_pyproject_may_have_long_lines(tmp_path):
    pins = ", ".join(f'"p{number}==1.2.3"' for number in range(300))
    write_settings(tmp_path, f"[project]\ndependencies = [{pins}]\n", "pyproject.toml")
    assert find_config(tmp_path) is None


def test_unreadable_settings_are_an_error(tmp_path, monkeypatch):
    def denied(path: str, limit: int) -> bytes:
        if path == str(tmp_path / "pyproject.toml"):
            raise PermissionError(errno.EACCES, "Permission denied", path)
        raise FileNotFoundError(errno.ENOENT, "No such file or directory", path)

    monkeypatch.setattr("ackdoctor.config.read_file", denied)
    with pytest.raises(ConfigError, match=r"pyproject\.toml: cannot be read: Permission denied$"):
        find_config(tmp_path / "src")


@pytest.mark.parametrize("name", ["pyproject.toml", "ackdoctor.toml"])
def test_a_directory_in_the_place_of_the_settings_is_an_error(name, tmp_path):
    (tmp_path / name).mkdir()
    with pytest.raises(ConfigError, match=rf"{name}: cannot be read: not a file$"):
        find_config(tmp_path)


def test_ackdoctor_toml_wins_over_a_pyproject_beside_it(tmp_path):
    write_settings(tmp_path, "[tool.ackdoctor]\n", "pyproject.toml")
    own = write_settings(tmp_path, "")
    assert find_config(tmp_path) == own


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('\nselct = ["ACK101"]\n', "ackdoctor.toml:2: unknown key `selct`; did you mean `select`?"),
        ("select = 3\n", "ackdoctor.toml:1: `select` must be a list of strings"),
        (
            'exclude = ["\\u0000"]\n',
            "ackdoctor.toml:1: `exclude` must list patterns as in .gitignore, not '\\x00'",
        ),
        *(
            (
                f'min-severity = "info"\n{key} = ["gen", {text!r}]\n',
                f"ackdoctor.toml:2: `{key}` must list patterns as in .gitignore, not {text!r}",
            )
            for key in ("exclude", "extend-exclude")
            for text in ("", " ", "[!]", "!", "/", "# gen", "[", "a/[b", "[]")
        ),
        (
            "select = []\n",
            "ackdoctor.toml:1: `select` names no rule; without it all rules that are on by default run",
        ),
        (
            'ignore = ["ack-101"]\n',
            "ackdoctor.toml:1: `ignore` must list codes, prefixes of codes or rule names, not 'ack-101'",
        ),
        (
            'min-severity = "warn"\n',
            "ackdoctor.toml:1: `min-severity` must be one of info, warning, error, not 'warn'",
        ),
        ("fatal-unreadable = 1\n", "ackdoctor.toml:1: `fatal-unreadable` must be true or false, not 1"),
        (
            'rules = "ack"\n',
            "ackdoctor.toml:1: `rules` must be a table such as {ACK101 = {on-missing-path = \"ack\"}}, not 'ack'",
        ),
        (
            "[rules.ACK103]\n",
            'ackdoctor.toml:1: `rules` must be a table such as {ACK101 = {on-missing-path = "ack"}}, not ACK103',
        ),
        (
            '[rules.ACK101]\non-mising-path = "ack"\n',
            'ackdoctor.toml:1: `rules` must be a table such as {ACK101 = {on-missing-path = "ack"}}, not '
            "'on-mising-path'; did you mean `on-missing-path`?",
        ),
        (
            '[rules.ACK101]\non-missing-path = "drop"\n',
            "ackdoctor.toml:1: `rules` of ACK101: `on-missing-path` must be one of ack, fail, not 'drop'",
        ),
        ('baseline = ""\n', "ackdoctor.toml:1: `baseline` must be the path of a file"),
        (
            '[extra-bases]\n"mylib.Base" = "streamparse Bolt"\n',
            (
                'ackdoctor.toml:1: `extra-bases` must be a table such as {"mylib.base.MyBolt" = "streamparse.Bolt"}'
                "; 'mylib.Base' has 'streamparse Bolt'"
            ),
        ),
        (
            'per-file-ignores = {"a.py" = "ACK1"}\n',
            "ackdoctor.toml:1: `per-file-ignores` must be a table of glob = [\"ACK101\", ...]; 'a.py' has 'ACK1'",
        ),
        (
            '[tool.ackdoctor]\nselect = ["ACK1"]\n',
            "ackdoctor.toml: put the keys at the top of this file, without [tool.ackdoctor]",
        ),
        (
            "per-file-ignores = []\n",
            'ackdoctor.toml:1: `per-file-ignores` must be a table of glob = ["ACK101", ...]',
        ),
    ],
)
def test_the_error_about_a_setting_names_file_line_and_key(tmp_path, monkeypatch, text, message):
    monkeypatch.chdir(tmp_path)
    write_settings(tmp_path, text)
    with pytest.raises(ConfigError) as error:
        load_settings(Path("ackdoctor.toml"))
    assert str(error.value) == message


def test_the_error_has_the_line_of_our_table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = Path("pyproject.toml")
    path.write_text('[tool.ruff.lint]\nselect = ["E"]\n\n[tool.ackdoctor]\nselect = "ACK1"\n')
    with pytest.raises(ConfigError, match=r"^pyproject\.toml:5: `select` must be a list of strings$"):
        load_settings(path)
    path.write_text('[tool.ruff]\nline = 3\n[tool.ackdoctor.per-file-ignores]\n"a.py" = 3\n')
    with pytest.raises(ConfigError, match=r"^pyproject\.toml:3: `per-file-ignores` must be "):
        load_settings(path)


def test_the_error_about_invalid_toml_names_the_file(tmp_path):
    path = write_settings(tmp_path, "select = [\n")
    with pytest.raises(ConfigError, match=r"ackdoctor\.toml: not TOML: "):
        load_settings(path)


def test_a_byte_order_mark_is_ignored(tmp_path):
    assert load_settings(write_settings(tmp_path, '\ufeffselect = ["ACK1"]\n')).select == ("ACK1",)
    with pytest.raises(ConfigError, match=r"ackdoctor\.toml:1: unknown key `selct`"):
        load_settings(write_settings(tmp_path, '\ufeffselct = ["ACK1"]\n'))


def test_a_value_instead_of_our_table_is_an_error(tmp_path):
    path = write_settings(tmp_path, "[tool]\nackdoctor = 1\n", "pyproject.toml")
    with pytest.raises(ConfigError, match=r"pyproject\.toml: `tool\.ackdoctor` must be a table$"):
        load_settings(path)


def test_a_missing_settings_file_is_an_error(tmp_path):
    with pytest.raises(ConfigError, match=r"none\.toml: cannot be read: No such file or directory$"):
        load_settings(tmp_path / "none.toml")


@pytest.mark.parametrize(
    ("settings", "selected"),
    [
        (Settings(), True),
        (Settings(ignore=("ACK1",)), False),
        (Settings(ignore=("missing-ack",)), False),
        (Settings(ignore=("ACK1",), extend_select=("ACK101",)), True),
        (Settings(select=("ACK2",)), False),
        (Settings(select=("ACK2",), extend_select=("missing-ack",)), True),
        (Settings(select=("ACK101",), ignore=("ACK1",)), True),
        (Settings(select=("ACK1",), ignore=("ACK101",)), False),
        (Settings(select=("ACK101",), ignore=("missing-ack",)), False),
    ],
)
def test_the_more_exact_selector_wins_and_ignore_wins_a_tie(settings, selected):
    assert settings.selects("ACK101", "missing-ack") is selected


def test_a_selected_rule_runs_even_if_it_is_off_by_default():
    assert not Settings().selects("ACK901", "unused-ignore", default=False)
    assert Settings(extend_select=("ACK9",)).selects("ACK901", "unused-ignore", default=False)
    assert Settings(select=("ACK",)).selects("ACK901", "unused-ignore", default=False)


def test_settings_can_be_pickled(tmp_path):
    settings = load_settings(write_settings(tmp_path, '[extra-bases]\n"a.B" = "c.D"\n'))
    assert pickle.loads(pickle.dumps(settings)) == settings
