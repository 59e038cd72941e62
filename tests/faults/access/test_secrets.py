"""No secret is in a log, in a process that cases can read, or in the stored output of a case. Log files are readable
only by their owner."""

from __future__ import annotations

import io
import os
import stat
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from coordinator.database.connection import engine
from coordinator.operating_system.atomic_files import open_log
from coordinator.process.logs import get_logger, log_to
from protocol.enums import Ending, Verdict
from protocol.outcomes import Evidence, Outcome
from protocol.redaction import MASK, without_own_secrets
from runners.isolation.secrecy import Redaction
from tests.runner_process import RunnerProcess

SECRET = "Zq3vN8-hidden_Tt7w"


@pytest.mark.parametrize("form", ["json", "text"])
async def test_a_row_that_is_refused_is_not_logged(database: str, form: str) -> None:
    """PostgreSQL puts the whole row into the detail of its error, even if parameters are hidden."""
    output, pool = io.StringIO(), engine(database, pool_size=1)
    with log_to(output, form):  # type: ignore[arg-type]
        try:
            async with pool.begin() as connection:
                await connection.execute(text("CREATE TEMP TABLE t (url text, secret text, n int CHECK (n > 1))"))
                await connection.execute(text("INSERT INTO t VALUES (:u, :s, 0)"), {"u": "http://x", "s": SECRET})
        except DBAPIError as error:
            get_logger("coordinator.tests").error("a statement failed", exc_info=error)
    await pool.dispose()
    assert "violates check constraint" in output.getvalue()
    assert SECRET not in output.getvalue()


def test_a_value_that_is_known_is_not_logged() -> None:
    output = io.StringIO()
    with log_to(output, "json", [SECRET]):
        get_logger("coordinator.tests").error("plain", word=f"x{SECRET}y", url=f"postgresql://me:{SECRET}9@h/d")
    assert f"x{MASK}y" in output.getvalue()
    assert SECRET not in output.getvalue()


def test_a_log_is_for_its_owner_whatever_the_umask_and_after_rotation(tmp_path: Path) -> None:
    log, before = tmp_path / "log", os.umask(0)
    try:
        log.write_text("of a release before\n")
        log.chmod(0o666)
        with open_log(log, 5) as stream:
            stream.write(b"one\n")
    finally:
        os.umask(before)
    rotated_log = tmp_path / "log.1"
    assert (log.read_text(), rotated_log.read_text()) == ("one\n", "of a release before\n")
    assert [stat.S_IMODE(path.stat().st_mode) for path in (log, rotated_log)] == [0o600, 0o600]


def test_no_process_of_a_runner_shows_its_secret() -> None:
    """A case can read the environment and the arguments of every process of its user."""
    variables = {"PORTOLAN_RUNNER_SECRET": SECRET, "PORTOLAN_DATABASE_URL": f"postgresql://me:{SECRET}@h/d"}
    # In the environment of a fork the kernel shows the variables of the fork server.
    runner = RunnerProcess(real=True, **variables)
    try:
        runner.run("add/0")
        for pid in (runner.pid, *(process.pid for process in runner.below())):
            for name in ("environ", "cmdline"):
                assert SECRET.encode() not in Path(f"/proc/{pid}/{name}").read_bytes(), (pid, name)
    finally:
        runner.stop()


def test_variables_of_ours_stay_here() -> None:
    kept_variables = {"PORTOLAN_TIMING_LOCK": "/tmp/x", "HF_TOKEN": SECRET, "PATH": "/bin"}
    own = ("PORTOLAN_RUNNER_SECRET", "PORTOLAN_DATABASE_URL", "PORTOLAN_TOKEN", "PORTOLAN_ENROLMENT_KEY_FILE")
    assert without_own_secrets(kept_variables | dict.fromkeys(own, SECRET)) == kept_variables


def test_what_a_case_says_of_a_secret_is_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", SECRET)
    redaction = Redaction()
    redaction.hide("the runner's own")
    outcome = Outcome(
        verdict=Verdict.failed,
        ending=Ending.raised,
        duration_s=1.0,
        evidence=Evidence(message=f"401 for {SECRET}", frames=[f"f.py:1 {SECRET}"]),
        log_tail=f"{SECRET[6:]} the runner's own",
        log_bytes=100_000,
    )
    masked_outcome = redaction.outcome(outcome)
    assert masked_outcome.log_tail == f"{MASK} {MASK}"
    assert masked_outcome.evidence == Evidence(message=f"401 for {MASK}", frames=[f"f.py:1 {MASK}"])
    plain = Outcome(verdict=Verdict.passed, ending=Ending.returned, duration_s=1.0)
    assert redaction.outcome(plain) is plain
