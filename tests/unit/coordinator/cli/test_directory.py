"""How commands find the coordinator, and what the data directory guarantees them."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from coordinator.cli.directory import DEFAULT_URL, DataDirectory, Whereabouts, default_directory, find_url
from coordinator.errors import CoordinatorError, DirectoryHeldError

HERE = Whereabouts("http://127.0.0.1:5", "postgresql://x")


def test_what_is_said_goes_before_the_environment_and_that_before_the_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PORTOLAN_URL", raising=False)
    monkeypatch.setenv("PORTOLAN_DATA", str(tmp_path / "data"))
    directory = DataDirectory()
    assert find_url(None, directory) == DEFAULT_URL
    with directory.hold():
        directory.announce(HERE)
        assert find_url(None, directory) == HERE.url
        monkeypatch.setenv("PORTOLAN_URL", "http://there:1/")
        assert find_url(None, directory) == "http://there:1"
        assert find_url("http://elsewhere:2", directory) == "http://elsewhere:2"


def test_a_directory_that_is_given_stands_for_its_own_instance_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PORTOLAN_URL", "http://there:1/")
    directory = DataDirectory(tmp_path / "data")
    with pytest.raises(CoordinatorError, match=r"no instance runs on .*/data: start it with `portolan up --data-dir"):
        find_url(None, directory)
    assert find_url("http://elsewhere:2", directory) == "http://elsewhere:2"
    with directory.hold():
        directory.announce(HERE)
        assert find_url(None, directory) == HERE.url


def test_an_instance_that_ended_is_not_found(tmp_path: Path) -> None:
    directory = DataDirectory(tmp_path)
    with directory.hold():
        directory.announce(HERE)
        left_by_a_kill = (tmp_path / "coordinator.json").read_text()
        assert directory.running() == HERE
    assert directory.running() is None
    (tmp_path / "coordinator.json").write_text(left_by_a_kill)
    assert directory.running() is None, "the file alone proves nothing: nobody holds the directory"


def test_two_instances_cannot_hold_one_directory(tmp_path: Path) -> None:
    with DataDirectory(tmp_path).hold():
        with pytest.raises(DirectoryHeldError, match="held by another portolan"), DataDirectory(tmp_path).hold():
            pass
        assert DataDirectory(tmp_path).running() is None
    with DataDirectory(tmp_path).hold():
        pass


def test_what_holds_a_password_is_for_its_owner_only(tmp_path: Path) -> None:
    directory = DataDirectory(tmp_path)
    with directory.hold():
        directory.announce(HERE)
        assert stat.S_IMODE((tmp_path / "coordinator.json").stat().st_mode) == 0o600
        assert stat.S_IMODE(directory.runner("torch/cpu").stat().st_mode) == 0o700


def test_the_default_place_follows_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PORTOLAN_DATA", "/somewhere")
    assert default_directory() == Path("/somewhere")
    monkeypatch.delenv("PORTOLAN_DATA")
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.setenv("XDG_DATA_HOME", "/mine")
    assert default_directory() == Path("/mine/portolan")
