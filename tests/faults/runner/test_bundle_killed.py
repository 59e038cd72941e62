"""A bundle whose runner was killed or interrupted is completed by repeating the command."""

from __future__ import annotations

import os
import signal
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from runners.isolation import processes
from tests import bundles
from tests.fork_server import RUNNER_SERVER, ForkedProcess
from tests.runner_process import alive, environment
from tests.waiting import until

SLOW = ("hazards.nap", "hazards.process_id")
RUNS = 20
"""The duration of five cases, which is longer than a busy machine takes to send a signal."""


def _begin(out: Path, note: Path, runs: int) -> subprocess.Popen[str]:
    return ForkedProcess(
        RUNNER_SERVER,
        bundles.command(out, functions=SLOW, runs=runs),
        env=environment(HAZARDS_NOTE=str(note)),
        stderr=subprocess.PIPE,
        text=True,
    )


def _outcome_count(part: Path) -> int:
    return part.read_bytes().count(b"\n") - 1 if part.exists() else 0


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_it_is_continued(number: signal.Signals, tmp_path: Path) -> None:
    out, part, note = tmp_path / "b", tmp_path / "b.part", tmp_path / "note"
    with _begin(out, note, runs=RUNS) as first:
        until(lambda: _outcome_count(part) >= 8, "some outcomes are written")
        below = [
            descendant.pid
            for descendant in processes.descendants([first.pid], processes.snapshot())
            if descendant.alive
        ]
        first.send_signal(number)
        _, output = first.communicate(timeout=120)
    until(lambda: not [pid for pid in below if alive(pid)], "nothing of it runs on")
    assert not out.exists()
    kept_bytes, count = part.read_bytes(), _outcome_count(part)
    assert kept_bytes.endswith(b"\n")
    if number == signal.SIGINT:
        assert first.returncode == 130
        assert f"{count} of {5 * RUNS} are stored in {part}: repeat the command to continue" in output

    with _begin(out, note, runs=RUNS) as second:
        _, output = second.communicate(timeout=120)
    assert second.returncode == 0, output
    assert f"continuing after {count} of {5 * RUNS}" in output
    whole = out.read_bytes()
    assert whole.startswith(kept_bytes)
    _, *lines = bundles.lines_of(whole)
    runs = Counter((line["case"], line["run"]) for line in lines)
    assert len(runs) == 5 * RUNS
    assert set(runs.values()) == {1}
    assert {line["outcome"]["verdict"] for line in lines} == {"passed"}, "an interruption is no outcome"
    assert [line["run"] for line in lines] == sorted(line["run"] for line in lines)
    assert not part.exists()


def test_another_order_does_not_continue_it(tmp_path: Path) -> None:
    out, part, note = tmp_path / "b", tmp_path / "b.part", tmp_path / "note"
    with _begin(out, note, runs=RUNS) as first:
        until(lambda: _outcome_count(part) >= 1, "an outcome is written")
        with _begin(out, note, runs=RUNS) as beside:
            _, output = beside.communicate(timeout=120)
        assert (beside.returncode, "another run is writing" in output) == (2, True)
        os.kill(first.pid, signal.SIGKILL)
        first.communicate()
    kept_bytes = part.read_bytes()
    with _begin(out, note, runs=2) as second:
        _, output = second.communicate(timeout=120)
    assert second.returncode == 2
    (line,) = output.splitlines()
    assert f"was begun with other settings (runs {RUNS}, now 2)" in line
    assert part.read_bytes() == kept_bytes
