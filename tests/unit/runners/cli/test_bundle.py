"""A bundle's file: begun, continued after an interruption, and never overwritten; and the cases that remain to be
run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from coordinator.campaigns import plan
from protocol import bundle
from protocol.bundle import BundledOutcome, BundleHeader
from protocol.catalogue import Catalogue, CatalogueCase, CatalogueSuite
from protocol.enums import Ending, Verdict
from protocol.outcomes import Outcome
from runners.cli.bundle import BundleWriter, differences
from runners.cli.charting import progress_line, select, tasks
from runners.errors import BundleWriteError
from tests.runner_info import runner_info

NAMES = ("f/a", "f/b", "g/a")


def _header(**changes: Any) -> BundleHeader:
    suite = CatalogueSuite(
        name="paper", revision="r1", cases=[CatalogueCase(id=name, function=name[0]) for name in NAMES]
    )
    fields = {"suite": suite, "runner": runner_info(f"boot {datetime.now(UTC)}")} | changes
    return BundleHeader(portolan="1", begun_at=datetime.now(UTC), functions=["*"], runs=2, **fields)


def _outcome(case: str, run: int, verdict: Verdict = Verdict.passed) -> BundledOutcome:
    outcome = Outcome(verdict=verdict, ending=Ending.returned, duration_s=0.5)
    return BundledOutcome(case=case, run=run, finished_at=datetime.now(UTC), outcome=outcome)


def _interrupted_bundle(path: Path, *outcomes: tuple[str, int]) -> BundleWriter:
    with BundleWriter(path) as writer:
        writer.begin(_header())
        for case, run in outcomes:
            writer.add(_outcome(case, run, Verdict.failed))
    return writer


def test_a_bundle_in_one_go(tmp_path: Path) -> None:
    header = _header()
    with BundleWriter(tmp_path / "b") as writer:
        writer.begin(header)
        for task in tasks(header, writer):
            writer.add(_outcome(task.job.case, task.job.run))
        assert not (tmp_path / "b").exists()
        writer.complete()
    first, *middle, last = (tmp_path / "b").read_bytes().splitlines(keepends=True)
    assert BundleHeader.model_validate_json(first) == header
    order = [(entry["case"], entry["run"]) for entry in map(json.loads, middle)]
    assert order == [(case, run) for run in (1, 2) for case in NAMES]
    assert json.loads(last) == {
        "type": "end",
        "outcomes": 6,
        "sha256": hashlib.sha256(first + b"".join(middle)).hexdigest(),
    }
    assert list(tmp_path.iterdir()) == [tmp_path / "b"]


TORN: dict[str, Callable[[bytes], bytes]] = {
    "whole": lambda part: part,
    "the last line is cut off": lambda part: part + b'{"type":"outcome","case":"g/a"',
    "the last line has no break": lambda part: part + _outcome("g/a", 1).model_dump_json().encode(),
    "zeros, as after a power cut": lambda part: part + bytes(512),
    "killed between the end and its name": lambda part: part + b'{"type":"end","outcomes":2,"sha256":"00"}\n',
}


@pytest.mark.parametrize("kind", TORN)
def test_it_goes_on_behind_the_last_whole_outcome(kind: str, tmp_path: Path) -> None:
    part = _interrupted_bundle(tmp_path / "b", ("f/a", 1), ("f/b", 1)).part
    whole = part.read_bytes()
    part.write_bytes(TORN[kind](whole))
    with BundleWriter(tmp_path / "b") as writer:
        header = _header()
        writer.begin(header)
        assert (writer.kept, writer.failing) == (2, 2)
        left = [(task.job.case, task.job.run) for task in tasks(header, writer)]
        assert left == [("g/a", 1), ("f/a", 2), ("f/b", 2), ("g/a", 2)]
        for case, run in left:
            writer.add(_outcome(case, run))
        writer.complete()
    *before, last = (tmp_path / "b").read_bytes().splitlines(keepends=True)
    assert b"".join(before).startswith(whole)
    assert json.loads(last)["sha256"] == hashlib.sha256(b"".join(before)).hexdigest()
    assert len(before) == 7


@pytest.mark.parametrize("length", [0, 1, 20, 200])
def test_killed_within_the_header_it_begins_anew(length: int, tmp_path: Path) -> None:
    part = _interrupted_bundle(tmp_path / "b", ("f/a", 1)).part
    part.write_bytes(part.read_bytes()[:length])
    with BundleWriter(tmp_path / "b") as writer:
        header = _header()
        writer.begin(header)
        writer.add(_outcome("f/a", 1))
        assert part.read_bytes().startswith(header.model_dump_json().encode() + b"\n")


@pytest.mark.parametrize("content", [b"my own notes", b"my own notes\n", b"\0"])
def test_a_file_of_somebody_elses_stays_as_it_is(content: bytes, tmp_path: Path) -> None:
    part = tmp_path / "b.part"
    part.write_bytes(content)
    with (
        pytest.raises(BundleWriteError, match="not an unfinished bundle of this version"),
        BundleWriter(tmp_path / "b") as each,
    ):
        each.begin(_header())
    assert part.read_bytes() == content


def test_another_machine_or_order_does_not_continue_it(tmp_path: Path) -> None:
    part = _interrupted_bundle(tmp_path / "b", ("f/a", 1)).part
    whole = part.read_bytes()
    other = _header()
    machine = other.runner.model_copy(
        update={"fingerprint": other.runner.fingerprint.model_copy(update={"driver": "550", "environment": "xyz"})}
    )
    with (
        pytest.raises(
            BundleWriteError, match=r"begun with other settings \(environment abc, now xyz; driver None, now 550\):"
        ),
        BundleWriter(tmp_path / "b") as writer,
    ):
        writer.begin(_header(runner=machine))
    assert part.read_bytes() == whole


def test_what_makes_two_bundles_different() -> None:
    header = _header()
    assert differences(header, _header()) == []
    suite = header.suite
    assert differences(header, _header(suite=suite.model_copy(update={"revision": "r2"}))) == ["revision r1, now r2"]
    fewer = suite.model_copy(update={"cases": suite.cases[:1]})
    assert differences(header, _header(suite=fewer)) == ["other cases"]
    assert differences(header, _header(timeout_s=3.0)) == ["timeout_s 900.0, now 3.0"]


def test_what_is_there_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "b").write_bytes(b"mine")
    with pytest.raises(BundleWriteError, match="never overwritten"):
        BundleWriter(tmp_path / "b")
    (tmp_path / "b").unlink()
    with BundleWriter(tmp_path / "b") as writer:
        writer.begin(_header())
        writer.add(_outcome("f/a", 1))
        (tmp_path / "b").write_bytes(b"mine")
        with pytest.raises(BundleWriteError, match="never overwritten"):
            writer.complete()
    assert (tmp_path / "b").read_bytes() == b"mine"
    assert (tmp_path / "b.part").exists()


def test_two_at_once_do_not_write_one_file(tmp_path: Path) -> None:
    with BundleWriter(tmp_path / "b") as writer:
        with pytest.raises(BundleWriteError, match="another run is writing"):
            BundleWriter(tmp_path / "b")
        writer.begin(_header())
        writer.add(_outcome("f/a", 1))
    assert (tmp_path / "b.part").exists()


def test_nothing_done_leaves_nothing(tmp_path: Path) -> None:
    _interrupted_bundle(tmp_path / "b")
    assert list(tmp_path.iterdir()) == []


def test_what_is_selected() -> None:
    catalogue = Catalogue(suites=[_header().suite])
    for functions, cases, unknown in (
        (["g", "f"], list(NAMES), ()),
        (["g*"], ["g/a"], ()),
        (["g", "nothing*", "f", "h"], list(NAMES), ("nothing*", "h")),
    ):
        suite, not_charted = select(catalogue, "paper", functions)
        assert ([case.id for case in suite.cases], not_charted) == (cases, unknown)
    with pytest.raises(BundleWriteError, match=r"no suite 'library'; choose one of paper, or, for your own suite"):
        select(catalogue, "library", ["*"])
    with pytest.raises(
        BundleWriteError, match=r"no function matches 'nothing\*'; no function matches 'h'.* in the suite 'paper'"
    ):
        select(catalogue, "paper", ["nothing*", "h"])


def test_progress_says_rate_and_time_left() -> None:
    assert progress_line(0, 100, 0, 0, 3.0) == "0/100 done, 0 failing"
    assert progress_line(20, 100, 4, 0, 10.0) == "20/100 done, 4 failing, 2.0/s, 40 s left"
    # What an earlier start did says nothing of this one's rate.
    assert progress_line(1_020, 1_140, 4, 1_000, 40.0) == "1,020/1,140 done, 4 failing, 30.0/min, 4 min 00 s left"
    assert progress_line(1, 3_601, 0, 0, 2.0).endswith("2 h 00 min left")
    assert progress_line(100, 100, 4, 0, 50.0) == "100/100 done, 4 failing, 2.0/s"


def test_a_bundle_can_hold_as_many_runs_as_a_campaign() -> None:
    assert bundle.MAX_RUNS == plan.MAX_RUNS
