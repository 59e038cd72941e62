"""A file is written completely or not at all."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest

from coordinator.operating_system.atomic_files import replacing, write_private


def test_a_file_appears_when_it_is_whole_and_replaces_the_earlier_one(tmp_path: Path) -> None:
    path = tmp_path / "report.csv"
    path.write_text("old")
    with replacing(path) as stream:
        stream.write(b"new")
        stream.flush()
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_failure_leaves_the_earlier_file_and_nothing_else(tmp_path: Path) -> None:
    nothing: Any = None
    path = tmp_path / "report.csv"
    path.write_text("old")
    with pytest.raises(TypeError), replacing(path) as stream:
        stream.write(b"half of it" + nothing)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_two_writers_at_once_each_write_a_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "shared"
    with replacing(path) as one, replacing(path) as other:
        one.write(b"one")
        other.write(b"other")
    assert path.read_text() == "one"
    assert list(tmp_path.iterdir()) == [path]


def test_a_private_file_is_its_owners_from_the_beginning(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.write_text("readable")
    path.chmod(0o644)
    write_private(path, "word")
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("word", 0o600)
