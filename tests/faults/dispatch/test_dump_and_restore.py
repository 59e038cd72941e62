"""A database is dumped while a runner works, and restored. All of its data is complete, and work continues."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.portolan_process import Portolan
from tests.waiting import until

RUNS = 20
SUBMIT = ("submit", "--suite", "hazards", "--timing", "off")
UP = ("--targets", "hazards/cpu", "--port", "0")


@pytest.fixture
def original(directory: Path) -> Iterator[Portolan]:
    """A data directory in which an instance runs, with a runner."""
    portolan = Portolan(directory.parent)
    up = portolan.up(*UP)
    yield portolan
    up.stop()


def campaign(portolan: Portolan, number: str) -> dict[str, Any]:
    return dict(json.loads(portolan.ask("status", number, "--json")))


def test_a_dump_of_a_working_instance_goes_on_where_it_was(original: Portolan) -> None:
    original.ask(*SUBMIT, "--functions", "hazards.add", "--runs", "3", "--wait")
    running = original.ask(*SUBMIT, "--functions", "hazards.nap", "--runs", str(RUNS)).strip()
    until(lambda: campaign(original, running)["counters"]["done"], "it is in the middle")
    dump = original.directory / "dump"
    original.ask("db", "dump", str(dump))
    assert dump.stat().st_mode & 0o077 == 0, "it holds the secrets of runners"

    restored_instance = Portolan(original.directory / "restored")
    restored_instance.ask("db", "restore", str(dump))
    with_runner = restored_instance.up(*UP)
    try:
        for portolan in (restored_instance, original):
            until(lambda of=portolan: campaign(of, running)["state"] == "done", "what was running has ended")
            assert campaign(portolan, running)["counters"]["passed"] == RUNS
            assert len(portolan.ask("results", running, "--format", "csv").splitlines()) == 1 + RUNS
        results = ("results", "1", "--format", "json")
        assert restored_instance.ask(*results) == original.ask(*results)
    finally:
        with_runner.stop()


def test_what_cannot_be_restored_changes_nothing(original: Portolan, tmp_path: Path) -> None:
    dump, cut = tmp_path / "dump", tmp_path / "cut"
    original.ask("db", "dump", str(dump))
    whole = dump.read_bytes()
    cut.write_bytes(whole[: len(whole) // 2])
    new = Portolan(original.directory / "new")
    refusal = new.refused("db", "restore", str(cut))
    assert "cut could not be restored" in refusal
    assert "The database was not changed" in refusal
    assert "stop that one" in original.refused("db", "restore", str(dump))
    new.ask("db", "restore", str(dump))
    assert "the database is not empty" in new.refused("db", "restore", str(dump))
