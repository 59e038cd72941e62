"""A runner has names that attack the programs that show them. Every program quotes each name, and no attack works."""

from __future__ import annotations

import csv
import io
import shlex
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from coordinator.atlas.addresses import as_link, function_path, module_path
from tests.coordinator_process import CoordinatorProcess
from tests.faults.registration.listing_runner import ListingRunner
from tests.portolan_process import Portolan

ESCAPES = "\x1b]0;owned\x07\x1b[2J\x9b31m\r"
TURNED = "\u202egnp\u2066\u200f"
ACTIVE = ("\x1b", "\x07", "\x9b", "\u202e", "\u2066", "\u200f")
MARKUP = "<script>owned()</script><b title='x' \"y\">&amp;"
SHELL = "$(touch owned);`touch owned`|sh&'x"
FORMULA = "=cmd|' /C calc'!A0"
FRAMEWORK = "=1+cmd|'<b title='x' \"y\">&amp;"
DEVICE = f"@{SHELL}{ESCAPES}"
FUNCTION = f"+{MARKUP}{TURNED}"
CASE = f"-{SHELL}{MARKUP}"
TYPED_CASE = f"case {SHELL}{MARKUP}"
ESCAPED_CASE = f"case{ESCAPES}{TURNED}"
HARDWARE = f"={ESCAPES}{MARKUP}{TURNED}"
REPEAT = "true {case}; touch owned"


class HostileRunner(ListingRunner):
    """A runner. Each of its names is an attack on one of the programs that show names."""

    @property
    def info(self) -> dict[str, Any]:
        fingerprint = {
            "hardware": HARDWARE,
            "environment": f"@{ESCAPES}",
            "host": f"{MARKUP}{ESCAPES}",
            "system": f"{TURNED}{MARKUP}",
            "repeat": REPEAT,
            "notes": [f"{ESCAPES}{MARKUP}"],
            "libraries": {f"{MARKUP}{TURNED}": ESCAPES},
        }
        return {**super().info, "version": f"1{TURNED}{MARKUP[:15]}", "device": DEVICE, "fingerprint": fingerprint}

    def take(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Let all jobs fail, with a message that is an attack too."""
        receipt = super().take(batch)
        with self._changed:
            for event in self.events:
                if event["type"] == "finished":
                    evidence = {"message": f"{FORMULA}{ESCAPES}{TURNED}{MARKUP}"}
                    event["outcome"] = {
                        **event["outcome"],
                        "verdict": "failed",
                        "ending": "raised",
                        "evidence": evidence,
                    }
        return receipt


@pytest.fixture(scope="module")
def coordinator(new_database: Callable[..., str]) -> Iterator[CoordinatorProcess]:
    """A coordinator with a finished campaign of this runner, number 1."""
    coordinator = CoordinatorProcess(new_database())
    case_rows = [{"id": name, "function": FUNCTION, "tags": [MARKUP]} for name in (CASE, TYPED_CASE, ESCAPED_CASE)]
    runner = HostileRunner(case_rows, FRAMEWORK)
    try:
        answer = coordinator.register(runner.url, "")
        assert answer.status_code == 201, answer.text
        assert coordinator.submit("*", suite="paper", runs=1, name=f"{MARKUP}{TURNED}") == 1
        assert coordinator.wait_ended(1)["counters"]["done"] == 3
        yield coordinator
    finally:
        runner.stop()
        coordinator.stop()


def jobs(coordinator: CoordinatorProcess) -> dict[str, dict[str, Any]]:
    """The outcomes by case."""
    return {row["case"]: row for row in coordinator.outcomes(1)}


def test_pages_and_the_report_show_what_they_are_given(coordinator: CoordinatorProcess) -> None:
    job = jobs(coordinator)[ESCAPED_CASE]["job_id"]
    names = f"{quote(FRAMEWORK, safe='')}/{quote(FUNCTION, safe='')}"
    own = (
        "/",
        f"/atlas/{as_link(function_path(FUNCTION))}",
        f"/atlas/{as_link(module_path(FUNCTION.rpartition('.')[0]))}",
        "/campaigns",
        "/campaigns/1",
        "/campaigns/1/matrix",
        f"/campaigns/1/outcomes/{job}",
        "/campaigns/new",
        "/runners",
    )
    linked_paths = (f"/campaigns/1/functions/{quote(FRAMEWORK)}/{quote(FUNCTION)}", f"/history/{names}")
    for path in (*own, *linked_paths, "/runners/1", "/campaigns/1/figures", "/campaigns/1/report"):
        source = coordinator.page(path)
        assert "<script>owned" not in source, path
        assert "<b title=" not in source, path
        active_marks = [mark for mark in ACTIVE if mark in source]
        assert not active_marks, (path, active_marks)
    assert "\\u202egnp" in coordinator.page("/campaigns/1/matrix")
    assert "&lt;script&gt;owned()" in coordinator.page("/runners/1")


@pytest.mark.parametrize(
    "command",
    [("runner", "list"), ("status",), ("status", "1"), ("results", "1"), ("audit",)],
    ids=str,
)
def test_a_terminal_shows_what_it_is_given(
    coordinator: CoordinatorProcess, tmp_path: Path, command: tuple[str, ...]
) -> None:
    process = Portolan(tmp_path, PORTOLAN_URL=coordinator.url).call(*command)
    assert process.returncode == 0, process.stderr
    assert not [mark for mark in (*ACTIVE, "\r") if mark in process.stdout + process.stderr]


def test_no_cell_of_a_file_is_a_formula(coordinator: CoordinatorProcess) -> None:
    addresses = (
        "/api/v1/campaigns/1/outcomes?format=csv",
        "/api/v1/campaigns/1/tables/counts?format=csv",
        "/campaigns/1/matrix?as=csv",
        "/runners?as=csv",
    )
    for path in addresses:
        answer = coordinator.http.get(f"{coordinator.url}{path}")
        assert answer.status_code == 200, (path, answer.text[:300])
        rows = list(csv.reader(io.StringIO(answer.content.decode(), newline="")))
        assert len(rows) > 1, path
        formulas = [cell for row in rows for cell in row if cell[:1] in "=+-@\t\r\n" and cell and not _is_number(cell)]
        assert not formulas, path


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def test_the_command_that_repeats_a_case_runs_nothing_else(coordinator: CoordinatorProcess, tmp_path: Path) -> None:
    commands = {case: outcome["repeat"] for case, outcome in jobs(coordinator).items()}
    # A name that begins as an option is one for every program: it is not typed at all.
    assert "cannot be passed to a shell" in commands[CASE]
    assert "cannot be passed to a shell" in commands[ESCAPED_CASE]
    assert shlex.split(commands[TYPED_CASE]) == ["true", f"{TYPED_CASE};", "touch", "owned"]
    subprocess.run(["bash", "-c", commands[TYPED_CASE]], cwd=tmp_path, check=True)
    assert not list(tmp_path.iterdir())
