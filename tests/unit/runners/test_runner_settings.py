"""The variables of a runner: only one module reads them, the documentation names them, and an empty variable counts as
unset."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from protocol.events import HEARTBEAT_S
from runners.errors import UsageError
from runners.settings import HEARTBEAT, RunnerVariables, cache, heartbeat_s

ROOT = Path(__file__).parents[3]


def test_nothing_but_the_settings_reads_a_variable_on_the_supervisors_side() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (frameworks_own,) = (
        contract["source_modules"] for contract in contracts if contract["name"].startswith("a framework's interpreter")
    )
    places = [name.replace(".", "/") for name in frameworks_own]
    readers = []
    for file in sorted((ROOT / "runners").rglob("*.py")):
        module = str(file.relative_to(ROOT).with_suffix(""))
        if any(module == place or module.startswith(f"{place}/") for place in places):
            continue
        if re.search(r"getenv|environ\b", file.read_text()):
            readers.append(module)
    # The one beside the settings hides variables from cases, and takes no setting from them.
    assert readers == ["runners/isolation/secrecy", "runners/settings"]


def test_every_variable_stands_in_the_docs() -> None:
    text = (ROOT / "docs" / "reference" / "settings.md").read_text()
    names = [str(field.validation_alias) for field in RunnerVariables.model_fields.values()]
    assert len(names) >= 4
    assert [name for name in names if f"`{name}`" not in text and f"${name}" not in text] == []


def test_package_indexes_can_be_read_before_anything_is_installed() -> None:
    command = [sys.executable, "-S", "-c", "import runners.cli.indexes"]
    assert subprocess.run(command, cwd=ROOT, check=False).returncode == 0


@pytest.mark.parametrize(
    ("ours", "systems", "folder"),
    [("/a", "/b", "/a"), ("", "/b", "/b"), (None, "/b", "/b"), ("", "", "~/.cache"), (None, None, "~/.cache")],
)
def test_the_cache_is_ours_else_the_systems_else_below_the_home(
    monkeypatch: pytest.MonkeyPatch, ours: str | None, systems: str | None, folder: str
) -> None:
    for name, value in (("PORTOLAN_CACHE", ours), ("XDG_CACHE_HOME", systems)):
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)
    assert cache() == Path(folder).expanduser()


@pytest.mark.parametrize(("text", "seconds"), [(None, HEARTBEAT_S), ("", HEARTBEAT_S), ("0.3", 0.3), ("10", 10.0)])
def test_the_pause_between_heartbeats_is_the_variables_else_ours(
    monkeypatch: pytest.MonkeyPatch, text: str | None, seconds: float
) -> None:
    if text is None:
        monkeypatch.delenv(HEARTBEAT, raising=False)
    else:
        monkeypatch.setenv(HEARTBEAT, text)
    assert heartbeat_s() == seconds


@pytest.mark.parametrize("text", ["0", "-1", "nan", "10.1", "often"])
def test_a_pause_between_heartbeats_that_the_contract_does_not_allow(
    monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv(HEARTBEAT, text)
    with pytest.raises(UsageError, match=r"PORTOLAN_HEARTBEAT_S is .*: give seconds from 0\.05 to 10"):
        heartbeat_s()
