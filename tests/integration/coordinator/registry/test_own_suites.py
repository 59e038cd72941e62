"""A suite from a bundle is separate: it does not change suites that runners serve, and does not prevent a runner from
registering."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import asyncpg
import httpx
import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from coordinator.configuration.times import Times
from coordinator.errors import SuiteChangedError
from coordinator.registry import service
from coordinator.registry.models import RunnerRegistration
from protocol.catalogue import Catalogue, CatalogueCase, CatalogueSuite
from protocol.runner import RunnerInfo
from tests import bundles
from tests.app_client import app_client

TABLES = ("campaigns", "campaign_targets", "jobs", "outcomes", "suites", "cases", "targets", "fingerprints")
CASES = """
select c.id, c.name, c.function, c.host_only, c.tags, c.position, s.origin
  from cases c join suites s on s.id = c.suite_id order by c.id
"""
WAITING = "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"

Lines = list[dict[str, Any]]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return bundles.make(tmp_path_factory.mktemp("bundle") / "hazards.bundle").read_bytes()


@pytest.fixture
async def http(database: str) -> AsyncIterator[httpx.AsyncClient]:
    # Nobody is at the runners' addresses, and nobody is to look: a runner that is found away is planned with no more.
    times = Times(poll_s=3600, renew_s=3600, ownership_s=7200, lease_s=7200)
    async with app_client(database, times=times) as client:
        yield client


@pytest.fixture
async def rows(database: str) -> AsyncIterator[asyncpg.Connection[Any]]:
    connection = await asyncpg.connect(database)
    yield connection
    await connection.close()


def change_bundle(bundle: bytes, change: Callable[[Lines], object]) -> bytes:
    """Another bundle from another time, with these changes."""
    lines = bundles.lines_of(bundle)
    lines[0]["begun_at"] = "2020-01-01T00:00:00Z"
    change(lines)
    return bundles.sealed(lines)


def runner_of(bundle: bytes) -> tuple[RunnerInfo, CatalogueSuite]:
    """A runner that serves the bundle's suite with one more case, which is the first."""
    header, *_ = bundles.lines_of(bundle)
    info = RunnerInfo.model_validate(header["runner"])
    bundle_cases = [CatalogueCase.model_validate(case) for case in header["suite"]["cases"]]
    first = CatalogueCase(id="hazards.first/0", function="hazards.first")
    return info, CatalogueSuite(name="hazards", revision=header["suite"]["revision"], cases=[first, *bundle_cases])


async def enter(engine: AsyncEngine, info: RunnerInfo, suite: CatalogueSuite, url: str = "http://nobody") -> int:
    """Register a runner with this description."""
    return await service.enter(engine, RunnerRegistration(url=url), info, Catalogue(suites=[suite]))


async def counts(connection: asyncpg.Connection[Any]) -> dict[str, int]:
    return {table: await connection.fetchval(f"select count(*) from {table}") for table in TABLES}


def rename_first(lines: Lines) -> None:
    lines[0]["suite"]["cases"][0]["function"] = "hazards.other"


def alter_first(lines: Lines) -> None:
    """Change the digest of the first case."""
    lines[0]["suite"]["cases"][0]["digest"] = "another"


async def test_an_import_leaves_the_suite_of_a_runner_as_it_is(
    http: httpx.AsyncClient, bundle: bytes, engine: AsyncEngine, rows: asyncpg.Connection[Any]
) -> None:
    info, suite = runner_of(bundle)
    await enter(engine, info, suite)
    rows_before = await rows.fetch(CASES)
    catalogue = (await http.get("/catalogue")).json()

    def add_a_case(lines: Lines) -> None:
        lines[0]["suite"]["cases"].append({"id": "hazards.extra/0", "function": "hazards.extra"})
        lines[0]["suite"]["cases"][1]["tags"] = ["a tag of its own"]
        lines.extend({**lines[1], "case": "hazards.extra/0", "run": run} for run in (1, 2))

    answer = await http.post(bundles.UPLOAD, headers=bundles.HEADERS, content=change_bundle(bundle, add_a_case))
    assert answer.status_code == 201, answer.text
    functions = (await http.get(f"/campaigns/{answer.json()['id']}/matrix")).json()["rows"]
    assert "hazards.extra" in {row["function"] for row in functions}
    assert [row for row in await rows.fetch(CASES) if row["origin"] == "runner"] == rows_before
    assert (await http.get("/catalogue")).json() == catalogue
    await enter(engine, info, suite)
    # What is dispatched is the runner's, to the last case.
    plan = await http.post(
        "/campaigns", json={"suite": "hazards", "targets": ["hazards/cpu"], "runs": 1, "dry_run": True}
    )
    assert plan.json()["jobs"] == len(suite.cases), plan.text


async def test_a_runner_that_comes_after_a_bundle_has_its_suite_whole_and_of_its_own(
    http: httpx.AsyncClient, bundle: bytes, engine: AsyncEngine, rows: asyncpg.Connection[Any]
) -> None:
    campaign = (await http.post(bundles.UPLOAD, headers=bundles.HEADERS, content=bundle)).json()["id"]
    bundle_rows = await rows.fetch(CASES)
    outcomes = (await http.get(f"/campaigns/{campaign}/outcomes")).json()
    info, suite = runner_of(bundle)
    await enter(engine, info, suite)
    now = await rows.fetch(CASES)
    assert [row for row in now if row["origin"] == "bundle"] == bundle_rows
    assert [row["name"] for row in now if row["origin"] == "runner"] == [case.id for case in suite.cases]
    assert (await http.get(f"/campaigns/{campaign}/outcomes")).json() == outcomes


async def test_bundles_with_the_same_cases_share_them(
    http: httpx.AsyncClient, bundle: bytes, rows: asyncpg.Connection[Any]
) -> None:
    assert (await http.post(bundles.UPLOAD, headers=bundles.HEADERS, content=bundle)).status_code == 201
    before = await counts(rows)
    assert (
        await http.post(bundles.UPLOAD, headers=bundles.HEADERS, content=change_bundle(bundle, lambda lines: None))
    ).status_code == 201
    after = await counts(rows)
    assert (after["campaigns"], after["suites"], after["cases"]) == (2, before["suites"], before["cases"])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (rename_first, "1 case changed (hazards.add/0: function hazards.add → hazards.other)"),
        (alter_first, " → 'another')"),
    ],
)
@pytest.mark.parametrize("first", ["a bundle", "a runner"])
async def test_one_revision_has_one_meaning(
    first: str,
    change: Callable[[Lines], object],
    words: str,
    http: httpx.AsyncClient,
    bundle: bytes,
    engine: AsyncEngine,
    rows: asyncpg.Connection[Any],
) -> None:
    if first == "a runner":
        await enter(engine, *runner_of(bundle))
    else:
        assert (await http.post(bundles.UPLOAD, headers=bundles.HEADERS, content=bundle)).status_code == 201
    counts_before = await counts(rows)
    answer = await http.post(bundles.UPLOAD, headers=bundles.HEADERS, content=change_bundle(bundle, change))
    assert answer.status_code == 409, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    detail = answer.json()["detail"]
    assert "the bundle's suite 'hazards' of hazards differs from the suite stored" in detail
    assert words in detail
    assert await counts(rows) == counts_before


async def test_a_runner_that_contradicts_a_bundle_is_told_of_it(
    http: httpx.AsyncClient, bundle: bytes, engine: AsyncEngine, rows: asyncpg.Connection[Any]
) -> None:
    assert (
        await http.post(bundles.UPLOAD, headers=bundles.HEADERS, content=change_bundle(bundle, rename_first))
    ).status_code == 201
    counts_before = await counts(rows)
    info, suite = runner_of(bundle)
    with pytest.raises(SuiteChangedError, match=r"hazards\.add/0: function hazards\.other → hazards\.add"):
        await enter(engine, info, suite)
    assert await counts(rows) == counts_before
    assert (await http.get("/runners")).json() == {"runners": []}
    await enter(engine, info, suite.model_copy(update={"revision": "another"}))


async def test_whoever_told_a_revision_wrongly_is_undone_by_an_operator(
    http: httpx.AsyncClient, bundle: bytes, engine: AsyncEngine, rows: asyncpg.Connection[Any]
) -> None:
    """A bundle and another target's runner have stored wrong content under a revision. After an operator deletes it,
    the real suite is stored."""
    info, suite = runner_of(bundle)
    before = await counts(rows)
    wrong = await http.post(bundles.UPLOAD, headers=bundles.HEADERS, content=change_bundle(bundle, rename_first))
    with pytest.raises(SuiteChangedError, match="`portolan delete suite` shows"):
        await enter(engine, info, suite)
    answer = await http.delete(f"/campaigns/{wrong.json()['id']}")
    assert answer.status_code == 200, answer.text
    now = await counts(rows)
    assert {**now, "targets": 0, "fingerprints": 0} == before
    other = suite.model_copy(update={"cases": suite.cases[1:]})
    squatter = await enter(engine, info.model_copy(update={"device": "another", "boot_id": "b"}), other, "http://other")
    with pytest.raises(SuiteChangedError):
        await enter(engine, info, suite)
    (suite_row,) = (await http.get("/suites")).json()["suites"]
    assert (suite_row["origin"], suite_row["cases"], suite_row["runners"]) == ("runner", len(other.cases), [squatter])
    assert (await http.delete(f"/suites/{suite_row['id']}")).status_code == 409
    assert (await http.delete(f"/runners/{squatter}")).is_success
    assert (await http.delete(f"/suites/{suite_row['id']}")).json() == {**suite_row, "runners": []}
    await enter(engine, info, suite)


async def test_a_bundle_goes_with_its_campaign_unless_another_has_its_cases(
    http: httpx.AsyncClient, bundle: bytes, rows: asyncpg.Connection[Any]
) -> None:
    first = (await http.post(bundles.UPLOAD, headers=bundles.HEADERS, content=bundle)).json()["id"]
    same = change_bundle(bundle, lambda lines: None)
    second = (await http.post(bundles.UPLOAD, headers=bundles.HEADERS, content=same)).json()["id"]
    outcomes = (await http.get(f"/campaigns/{second}/outcomes")).json()
    assert (await http.delete(f"/campaigns/{first}")).status_code == 200
    assert (await http.get(f"/campaigns/{second}/outcomes")).json() == outcomes
    # It may come again, as a campaign of its own.
    assert (await http.post(bundles.UPLOAD, headers=bundles.HEADERS, content=bundle)).status_code == 201
    for campaign in (second, second + 1):
        assert (await http.delete(f"/campaigns/{campaign}")).status_code == 200
    assert (await counts(rows))["cases"] == 0


async def test_of_a_bundle_and_a_runner_that_contradict_each_other_at_once_one_is_refused(
    http: httpx.AsyncClient, bundle: bytes, engine: AsyncEngine, rows: asyncpg.Connection[Any]
) -> None:
    """Both are delayed before they commit. The second transaction sees the first, and nobody waits forever."""
    info, suite = runner_of(bundle)
    info = info.model_copy(update={"version": "another target"})
    async with asyncio.timeout(120):
        holder = rows.transaction()
        await holder.start()
        key = f"hazards\nhazards\n{suite.revision}"
        await rows.execute("select pg_advisory_xact_lock(hashtextextended($1, 0))", key)
        importing = asyncio.ensure_future(
            http.post(bundles.UPLOAD, headers=bundles.HEADERS, content=change_bundle(bundle, rename_first))
        )
        entering = asyncio.ensure_future(enter(engine, info, suite))
        while await rows.fetchval(WAITING) < 2:
            # Both have stored what they bring, and neither sees the other's.
            assert [importing.done(), entering.done()] == [False, False]
            await rows.execute("select pg_stat_clear_snapshot()")
        await holder.rollback()
        results = await asyncio.gather(importing, entering, return_exceptions=True)
    is_imported = isinstance(results[0], httpx.Response) and results[0].status_code == 201
    assert is_imported or (isinstance(results[0], httpx.Response) and results[0].status_code == 409), results
    assert isinstance(results[1], SuiteChangedError if is_imported else int), results
    assert (await counts(rows))["suites"] == 1


async def test_a_bundle_says_nothing_new_of_a_target_that_is_there(
    http: httpx.AsyncClient, bundle: bytes, engine: AsyncEngine, rows: asyncpg.Connection[Any]
) -> None:
    await enter(engine, *runner_of(bundle))
    targets_before = await rows.fetch("select * from targets")

    def say_otherwise(lines: Lines) -> None:
        lines[0]["runner"] |= {"simulated": True, "device_class": "tpu"}
        lines[0]["runner"]["fingerprint"]["notes"] = ["the bundle's"]

    assert (
        await http.post(bundles.UPLOAD, headers=bundles.HEADERS, content=change_bundle(bundle, say_otherwise))
    ).status_code == 201
    assert await rows.fetch("select * from targets") == targets_before


async def test_an_estimate_learns_from_what_was_imported(
    http: httpx.AsyncClient, bundle: bytes, engine: AsyncEngine
) -> None:
    assert (await http.post(bundles.UPLOAD, headers=bundles.HEADERS, content=bundle)).status_code == 201
    info, suite = runner_of(bundle)
    await enter(engine, info, suite)
    plan = await http.post(
        "/campaigns", json={"suite": "hazards", "targets": ["hazards/cpu"], "runs": 1, "dry_run": True}
    )
    assert plan.status_code == 200, plan.text
    (target,) = plan.json()["by_target"]
    assert target["estimate"]["measured_jobs"] == len(bundles.lines_of(bundle)) - 1
