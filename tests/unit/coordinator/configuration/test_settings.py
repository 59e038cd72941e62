"""Settings: a password from a file is in the DSN unchanged, and a time limit is a number of seconds."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from pydantic import AliasChoices

from coordinator.configuration.settings import Settings, with_password
from coordinator.configuration.variables import Variables
from coordinator.configuration.variables import variables as variables_now
from coordinator.errors import DatabaseError, SettingError


@pytest.mark.parametrize("password", ["plain", "p@ss:w/ord?#%", "ä b"])
def test_any_password_can_stand_in_a_file(tmp_path: Path, password: str) -> None:
    file = tmp_path / "password"
    file.write_text(f"{password}\n")
    parts = urlsplit(with_password("postgresql://me@db:5433/portolan?sslmode=require", str(file)))
    assert (parts.username, unquote(parts.password or "")) == ("me", password)
    assert (parts.hostname, parts.port, parts.path, parts.query) == ("db", 5433, "/portolan", "sslmode=require")


def test_without_a_file_the_dsn_stays() -> None:
    assert with_password("postgresql://me:secret@db/portolan", None) == "postgresql://me:secret@db/portolan"


def test_a_dsn_without_a_user_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("secret")
    with pytest.raises(DatabaseError, match="names no user"):
        with_password("postgresql://db/portolan", str(file))


@pytest.mark.parametrize(("value", "seconds"), [(None, 60.0), ("", 60.0), ("2.5", 2.5)])
def test_the_limit_of_a_statement(monkeypatch: pytest.MonkeyPatch, value: str | None, seconds: float) -> None:
    if value is None:
        monkeypatch.delenv("PORTOLAN_STATEMENT_TIMEOUT_S", raising=False)
    else:
        monkeypatch.setenv("PORTOLAN_STATEMENT_TIMEOUT_S", value)
    assert Settings("postgresql://nowhere").statement_timeout_s == seconds


@pytest.mark.parametrize("value", ["0", "-1", "nan", "inf", "1e9", "a minute"])
def test_a_limit_that_is_none(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("PORTOLAN_STATEMENT_TIMEOUT_S", value)
    with pytest.raises(SettingError, match=r"give seconds from 0\.1 to 3600"):
        Settings("postgresql://nowhere")


def test_one_module_alone_reads_variables_on_the_coordinators_side() -> None:
    root = Path(__file__).parents[4] / "coordinator"
    readers = []
    for file in sorted(root.rglob("*.py")):
        text = file.read_text()
        # The whole environment may be handed on to a child.
        if re.search(r"getenv|environ\b(?!ment)", text.replace("{**os.environ", "")):
            readers.append(str(file.relative_to(root)))
    assert readers == ["configuration/variables.py"]


def test_every_variable_stands_in_the_docs() -> None:
    text = (Path(__file__).parents[4] / "docs" / "reference" / "settings.md").read_text()
    assert [name for name in variables() if f"`{name}`" not in text and f"${name}" not in text] == []


def variables() -> list[str]:
    names = []
    for field in Variables.model_fields.values():
        alias = field.validation_alias
        names += alias.choices if isinstance(alias, AliasChoices) else [alias]
    return [name for name in map(str, names) if name != "PATH"]


@pytest.mark.parametrize("name", ["PORTOLAN_DATA", "PORTOLAN_URL", "PORTOLAN_RUNNER_SECRET", "XDG_CACHE_HOME"])
def test_an_empty_variable_is_not_set(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "")
    empty = variables_now()
    monkeypatch.delenv(name)
    assert empty == variables_now()
