"""The options of cases in the database are stored and listed with a suite, and do not belong to its revision."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from coordinator.configuration.times import Times
from coordinator.registry import service
from coordinator.registry.models import RunnerRegistration
from protocol.catalogue import CallOptions, CaseOptions, Catalogue, CatalogueCase, CatalogueSuite
from protocol.runner import RunnerInfo
from tests import bundles
from tests.app_client import app_client

OPTIONS = CaseOptions(
    kind="value", dtypes=["float16"], calls=[CallOptions(positional=2, keywords={"axis": -1, "mode": "area"})]
)
OTHER = CaseOptions(kind="behaviour")


@pytest.fixture
async def http(database: str) -> AsyncIterator[httpx.AsyncClient]:
    times = Times(poll_s=3600, renew_s=3600, ownership_s=7200, lease_s=7200)
    async with app_client(database, times=times) as client:
        yield client


@pytest.fixture(scope="module")
def info(tmp_path_factory: pytest.TempPathFactory) -> RunnerInfo:
    header, *_ = bundles.lines_of(bundles.make(tmp_path_factory.mktemp("bundle") / "hazards.bundle").read_bytes())
    return RunnerInfo.model_validate(header["runner"])


async def enter(engine: AsyncEngine, info: RunnerInfo, options: list[CaseOptions | None], url: str) -> None:
    cases = [
        CatalogueCase(id=f"f{place}/0", function=f"f{place}", options=of_case) for place, of_case in enumerate(options)
    ]
    catalogue = Catalogue(suites=[CatalogueSuite(name="own", revision="1", cases=cases)])
    of_its_own = info.model_copy(update={"boot_id": url})
    await service.enter(engine, RunnerRegistration(url=url), of_its_own, catalogue)


async def fetch_cases(http: httpx.AsyncClient, **query: Any) -> Any:
    (suite,) = [suite for suite in (await http.get("/catalogue")).json()["suites"] if suite["suite"] == "own"]
    answer = await http.get(f"/suites/{suite['suite_id']}/cases", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_a_suite_is_listed_with_the_options_of_its_cases(
    http: httpx.AsyncClient, engine: AsyncEngine, info: RunnerInfo
) -> None:
    await enter(engine, info, [OPTIONS, None, OTHER], "http://first")
    whole = await fetch_cases(http)
    assert (whole["suite"], whole["revision"], whole["next"]) == ("own", "1", None)
    assert [case["options"] for case in whole["cases"]] == [
        {
            "kind": "value",
            "dtypes": ["float16"],
            "calls": [{"positional": 2, "keywords": {"axis": -1, "mode": "area"}}],
        },
        None,
        {"kind": "behaviour"},
    ]
    first = await fetch_cases(http, limit=2)
    rest = await fetch_cases(http, offset=first["next"], limit=2)
    assert [case["case"] for case in first["cases"] + rest["cases"]] == ["f0/0", "f1/0", "f2/0"]
    assert [case["case"] for case in (await fetch_cases(http, function="f1"))["cases"]] == ["f1/0"]
    assert (await http.get("/suites/999999/cases")).status_code == 404


async def test_options_are_no_part_of_a_revision(
    http: httpx.AsyncClient, engine: AsyncEngine, info: RunnerInfo
) -> None:
    """Options do not affect results. A runner with other options serves the same suite, with the options that were
    stored first."""
    await enter(engine, info, [None, OPTIONS], "http://older")
    stored_first = await fetch_cases(http)
    await enter(engine, info, [OTHER, OTHER], "http://later")
    assert await fetch_cases(http) == stored_first
