"""The command line with a running local instance, on which a runner serves the hazards (cases that go wrong)."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pyarrow.parquet as pq
import pytest

from tests.portolan_process import Portolan, Up
from tests.runner_process import RunnerProcess

NO_WORDS_OF_OURS = (
    "Value error",
    "Input should",
    "GET /",
    "POST /",
    ".part",
    "pydantic",
    "httpx",
    "sqlalchemy",
    "Errno",
)
"""Words of libraries and of the REST API that mean nothing to a user of the command line."""


@pytest.fixture(scope="module")
def portolan() -> Iterator[Portolan]:
    folder = Path(tempfile.mkdtemp(prefix="portolan-"))
    folder.chmod(0o711)
    yield Portolan(folder / "data")
    shutil.rmtree(folder)


@pytest.fixture(scope="module", autouse=True)
def up(portolan: Portolan) -> Iterator[Up]:
    running = portolan.up("--targets", "hazards/cpu", "--port", "0")
    yield running
    assert running.stop() == 0, running.said


@pytest.fixture(scope="module")
def campaign(portolan: Portolan) -> str:
    """A campaign with two runs of six cases. Three cases fail, and the function of one no longer exists."""
    options = ("--suite", "hazards", "--runs", "2", "--name", "the first")
    functions = ("--functions", "hazards.add hazards.gone", "--functions", "hazards.fail,hazards.segfault")
    process = portolan.call("submit", *options, *functions, "--wait")
    assert process.returncode == 0, process.stderr
    assert "14/14 done, 6 failing" in process.stderr
    number, _, matrix_text = process.stdout.partition("\n")
    assert "fails all   0/1  crash" in matrix_text
    assert "fails some  3/4  assertion" in matrix_text
    assert "0 of 3 functions pass every case (0 %, interval 0 to 56 %), 1 fails some, 2 fail all" in matrix_text
    assert "1 function has no verdict: every case was skipped (removed (1))" in matrix_text
    return number


def test_up_says_where_it_is_and_what_to_do_next(up: Up) -> None:
    assert "/docs)" in up.said
    assert "hazards/cpu: runner ready, hazards@1.0/cpu on the host" in up.said
    assert "portolan submit --wait" in up.said
    assert 'psql "$(portolan db url)"' in up.said


def test_a_submission_prints_nothing_but_its_number(portolan: Portolan) -> None:
    number = portolan.ask(
        "submit", "--suite", "hazards", "--functions", "hazards.nap", "--runs", "1", "--timing", "off"
    )
    assert int(number) > 0
    assert json.loads(portolan.ask("status", number.strip(), "--json"))["runs"] == 1


def test_fail_on_decides_the_exit_code(portolan: Portolan) -> None:
    real = Portolan(portolan.directory, real=True)
    common = ("submit", "--suite", "hazards", "--runs", "1", "--timing", "off", "--fail-on", "failed")
    assert real.call(*common, "--functions", "hazards.nap").returncode == 0
    assert real.call(*common, "--functions", "hazards.fail").returncode == 1


def test_a_dry_run_tells_the_plan_and_submits_nothing(portolan: Portolan, campaign: str) -> None:
    before = portolan.ask("status")
    plan = portolan.ask("submit", "--suite", "hazards", "--functions", "hazards.add", "--runs", "3", "--dry-run")
    assert "12 jobs: 4 cases of 1 function" in plan
    assert "on hazards@1.0/cpu" in plan
    assert "estimated time: unknown" not in plan, "the same cases have run before"
    assert portolan.ask("status") == before


def test_a_rerun_takes_what_failed_and_everything_else_as_it_was(portolan: Portolan, campaign: str) -> None:
    assert "6 jobs: 3 cases of 3 functions" in portolan.ask("submit", "--rerun", "failed", campaign, "--dry-run")
    assert "3 jobs" in portolan.ask("submit", "--rerun", "failed", campaign, "--runs", "1", "--dry-run")
    assert "nothing to run" in portolan.refused("submit", "--rerun", "incomplete", campaign)


def test_status_lists_campaigns_and_tells_of_one(portolan: Portolan, campaign: str) -> None:
    campaigns = json.loads(portolan.ask("status", "--json"))
    assert "the first" in portolan.ask("status")
    assert int(campaign) in [row["id"] for row in campaigns]
    one = portolan.ask("status", campaign)
    assert "the first: done" in one
    assert "14/14" in one


def test_the_table_ends_with_the_command_that_repeats_each_failure(portolan: Portolan, campaign: str) -> None:
    output = portolan.ask("results", campaign)
    assert "unknown: on purpose\n  portolan-runner run hazards cpu hazards.fail/0\n" in output
    assert "crash: SIGSEGV\n  portolan-runner run hazards cpu hazards.segfault/0\n" in output
    only = portolan.ask("results", campaign, "--function", "hazards.a*", "--device", "cpu")
    assert "hazards.add/wrong (2 runs)" in only
    assert "hazards.add on hazards@1.0/cpu: fails 1 of 4 cases: no option tells them from the others; " in only
    assert "hazards.fail" not in only


def test_csv_json_and_parquet_hold_the_same_outcomes(portolan: Portolan, campaign: str, place: Path) -> None:
    from_csv = list(csv.DictReader(io.StringIO(portolan.ask("results", campaign, "--format", "csv"))))
    from_json = json.loads(portolan.ask("results", campaign, "--format", "json"))
    file = place / "outcomes.parquet"
    assert portolan.ask("results", campaign, "--format", "parquet", "--output", str(file)) == ""
    from_parquet = pq.read_table(file).to_pylist()
    ids = [row["job_id"] for row in from_json]
    assert len(ids) == 14
    assert [int(row["job_id"]) for row in from_csv] == ids
    assert [row["job_id"] for row in from_parquet] == ids
    assert [path.name for path in place.iterdir()] == ["outcomes.parquet"]


def test_filters_narrow_the_export(portolan: Portolan, campaign: str) -> None:
    rows = json.loads(portolan.ask("results", campaign, "--format", "json", "--cause", "crash"))
    assert [row["function"] for row in rows] == ["hazards.segfault"] * 2
    assert json.loads(portolan.ask("results", campaign, "--format", "json", "--verdict", "incomplete")) == []


def test_cancel_ends_what_hangs(portolan: Portolan) -> None:
    submit = ("submit", "--suite", "hazards", "--functions", "hazards.hang", "--runs", "1")
    number = portolan.ask(*submit).strip()
    assert f"campaign {number}: 3 jobs cancelled" in portolan.ask("cancel", number)
    assert json.loads(portolan.ask("status", number, "--json"))["state"] == "cancelled"
    after = portolan.ask("submit", "--suite", "hazards", "--functions", "hazards.nap", "--wait", "--fail-on", "failed")
    assert "1 of 1 function passes every case" in after


def test_a_runner_is_registered_and_removed(portolan: Portolan, place: Path) -> None:
    runner = RunnerProcess(PORTOLAN_RUNNER_SECRET="the right one")
    try:
        secret = place / "secret"
        secret.write_text("the wrong one\n")
        url = runner.ready["url"]
        assert "secret" in portolan.refused("runner", "register", url, "--secret-file", str(secret))
        secret.write_text("the right one\n")
        output = portolan.ask("runner", "register", url, "--secret-file", str(secret))
        number = output.split(":")[0].removeprefix("runner ")
        assert portolan.call("runner", "register", url, "--secret-stdin", stdin="the right one\n").returncode == 0
        runners = json.loads(portolan.ask("runner", "list", "--json"))
        assert [row["state"] for row in runners if row["url"] == url] == ["online"]
        assert runners[-1]["environment"] in portolan.ask("runner", "list")
        portolan.ask("runner", "remove", number)
        assert url not in portolan.ask("runner", "list")
    finally:
        runner.stop()


def test_the_database_is_open_to_whoever_has_its_dsn(portolan: Portolan, campaign: str) -> None:
    async def count(dsn: str) -> object:
        connection = await asyncpg.connect(dsn)
        try:
            return await connection.fetchval("select count(*) from outcome_rows where campaign_id = $1", int(campaign))
        finally:
            await connection.close()

    assert asyncio.run(count(portolan.ask("db", "url").strip())) == 14


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("submit --suite papers", "no suite 'papers'"),
        ("submit --suite hazards --targets torch/tpu", "'torch/tpu' matches no live runner's target"),
        ("submit --suite hazards --targets nonsense", "framework/device"),
        ("submit --suite hazards --functions hazards.ad", "did you mean hazards.add"),
        ("submit --suite hazards --runs 0", "runs"),
        ("submit --suite hazards --timeout 0", "timeout_s"),
        ("submit --suite hazards --timeout 14401", "timeout_s"),
        ("submit --timing never", "--timing"),
        ("submit --rerun failed 999", "no campaign 999"),
        ("submit --zip", "--zip"),
        ("submit --targets torch/cpu torch/xla", "see portolan submit --help"),
        ("runner list all", "see portolan runner list --help"),
        ("status 999", "no campaign 999"),
        ("status first", "must be a whole number"),
        ("results 999 --format csv", "no campaign 999"),
        ("results 1 --format xml", "xml"),
        ("cancel 999", "no campaign 999"),
        ("runner register http://127.0.0.1:1", "does not answer (nothing listens there)"),
        ("runner register ftp://nowhere", "http"),
        ("runner remove 999", "no runner 999"),
        (
            "status --url http://127.0.0.1:1",
            "no coordinator answers at http://127.0.0.1:1: start one with `portolan up`",
        ),
        ("status --url nonsense", "is not a URL"),
        ("sail", "see portolan --help"),
        ("results 1 --device cpuu", "has no target of the device 'cpuu'; did you mean cpu? it has cpu"),
        ("results 1 --device hazards/cpu", "has no target of the device 'hazards/cpu'"),
        ("results 1 --device cpuu --format csv", "has no target of the device 'cpuu'"),
        ("results 1 --device cpuu --format json", "has no target of the device 'cpuu'"),
        (
            "results 1 --function hazards.ad",
            "in campaign 1 no function matches 'hazards.ad'; did you mean hazards.add",
        ),
        ("results 1 --function segfault", "did you mean hazards.segfault?"),
        ("results 1 --function hazards.ad --format csv", "did you mean hazards.add"),
        ("results 1 --function hazards.ad --format json", "did you mean hazards.add"),
        ("results 1 --function torch.*", "no function matches 'torch.*'"),
        ("results 1 --rule nowhere", "there is no counting rule 'nowhere'; choose one of: "),
        ("results 1 --verdict pass", "'pass' is not one of 'passed'"),
        ("results 99999999999", "campaign_id: must be 2147483647 or less"),
        ("results 0", "must be 1 or more"),
        ("results first", "must be a whole number"),
        ("results 1 --format csv --output /no/such/place.csv", "there is no folder /no/such: make it, or name another"),
        ("results 1 --format csv --output /dev/shm/..", "is a folder: name a file"),
        ("report 1 --out /no/such/report.html", "there is no folder /no/such"),
        ("history add", "no campaign has an outcome of add; did you mean hazards.add"),
        ("history hazards.ad", "did you mean hazards.add"),
        ("history hazards.add --framework torch", "hazards.add is a function of hazards, not of torch"),
        ("operations 999", "there is no campaign 999: `portolan status` shows the existing campaigns"),
        ("operations 1 aten::isin", "operation 'aten::isin'"),
        ("table 1 nonsense", "there is no table 'nonsense'; choose one of: "),
        ("figure 1 nonsense --out figure.svg", "there is no figure 'nonsense'"),
        ("report 1 --reference-device gpuu", "choose one of: cpu"),
        ("compare 1 first", "'first' is not a campaign: write its number"),
        ("compare 1:hazards/gpu 1:hazards/cpu", "matches 0 targets of campaign 1"),
        ("delete suite 999", "no suite 999: `portolan delete suite` without an id lists the stored suites"),
        ("delete campaign first", "must be a whole number"),
        ("token revoke 999", "no token 999: `portolan token list` shows the existing tokens"),
        ("token create ada --role captain", "'captain' is not one of 'viewer'"),
        (
            "override 1 no/case --target hazards/cpu --cause type --why so",
            "no failed, skipped or incomplete outcome of no/case",
        ),
        ("import no.bundle", "there is no file no.bundle: check its name"),
        ("import /dev/shm", "/dev/shm is a folder: name a file"),
        ("import /dev/null --unsigned", "the file is not a bundle"),
        ("reclassify 999", "no campaign 999"),
        ("submit --suite hazard", "did you mean hazards?"),
        ("submit --runs many", "must be a whole number"),
        ("submit --runs 1000", "runs: must be 100 or less"),
        ("submit --sample /dev/null", "is not a sample (no valid JSON"),
        ("evidence out.json no.bundle", "there is no file no.bundle"),
        ("assess no.py --on torch/xla", "no.py is not a file or folder here"),
        ("assess /dev/shm --on torch/xlaa --url http://127.0.0.1:1", "no coordinator answers"),
        ("assess /dev/shm --on xla", "framework/device"),
        ("catalogue sample torch@9", "torch@9"),
        ("login --token-file no.token", "there is no file no.token"),
        ("db url --role captain", "captain"),
        ("status --data-dir /no/such/place", "no instance runs on /no/such/place"),
    ],
)
def test_bad_input_gets_one_line_and_exit_code_2(portolan: Portolan, campaign: str, arguments: str, words: str) -> None:
    line = portolan.refused(*arguments.replace(" 1", f" {campaign}", 1).split())
    assert words.replace("campaign 1", f"campaign {campaign}") in line
    assert not [other for other in NO_WORDS_OF_OURS if other in line], line


def test_what_is_no_coordinator_is_told_apart(portolan: Portolan) -> None:
    runner = RunnerProcess()
    try:
        assert "not a coordinator of this version" in portolan.refused("status", "--url", runner.ready["url"])
    finally:
        runner.stop()
