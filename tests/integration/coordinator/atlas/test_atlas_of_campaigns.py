"""The atlas over the real application changes with the campaigns, and its pages agree with the evidence."""

from __future__ import annotations

import asyncio
import copy
import json
import re
import socket
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import httpx
import pytest

from coordinator.assess.evidence_file import load_shipped, read
from coordinator.atlas.addresses import as_link, framework_path, function_path, module_path, target_path
from coordinator.atlas.keeper import SMALL, AtlasKeeper
from coordinator.atlas.marks import cell_of
from coordinator.atlas.operations import operations_met
from coordinator.atlas.whole_atlas import whole_atlas
from coordinator.database.connection import engine as make_engine
from coordinator.errors import AtlasPendingError
from tests import bundles
from tests.app_client import app_client
from tests.database_roles import application
from tests.waiting import async_until

Lines = list[dict[str, Any]]

SHIPS = "this is the evidence that ships with Portolan"


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> Lines:
    """A bundle of the hazards, changed as if it came from another device than the CPU."""
    content = bundles.make(tmp_path_factory.mktemp("bundle") / "hazards.bundle", runs=1).read_bytes()
    lines = bundles.lines_of(content)
    lines[0]["runner"]["device"] = "xla"
    return lines


@pytest.fixture
async def http(database: str) -> AsyncIterator[httpx.AsyncClient]:
    async with app_client(database, path="") as client:
        yield client


async def send(http: httpx.AsyncClient, lines: Lines) -> int:
    answer = await http.post(f"/api/v1{bundles.UPLOAD}", headers=bundles.HEADERS, content=bundles.sealed(lines))
    assert answer.status_code == 201, answer.text
    number: int = answer.json()["id"]
    return number


async def fetch(http: httpx.AsyncClient, path: str) -> Any:
    answer = await http.get(path, params={"as": "json"})
    assert answer.status_code == 200, answer.text
    return answer.json()


async def of_function(http: httpx.AsyncClient, name: str) -> Any:
    document = await fetch(http, f"/atlas/{as_link(function_path(name))}")
    return document["functions"][name]["cells"]


async def test_the_front_has_every_function_with_the_mark_of_its_evidence(
    http: httpx.AsyncClient, lines: Lines
) -> None:
    campaign = await send(http, lines)
    evidence = read((await http.get("/api/v1/evidence")).content, "the answer", "the test")
    (target,) = evidence.targets
    (framework,) = (await fetch(http, "/"))["frameworks"]
    cells = {name: cell for name, cases in target.functions.items() if (cell := cell_of(cases)) is not None}
    assert framework["functions"] == len(cells)
    assert sum(framework["targets"][0]["counts"].values()) == len(cells)
    for name, cell in cells.items():
        (row,) = await of_function(http, name)
        assert (row["mark"], row["cases"], row["failed"]) == (cell.mark, cell.total, cell.failed), name
    page = await http.get(f"/atlas/{as_link(function_path('hazards.add'))}")
    assert f"campaign {campaign}</a>" in page.text


async def test_the_atlas_is_put_together_anew_when_a_campaign_brings_or_takes_evidence(
    http: httpx.AsyncClient, lines: Lines
) -> None:
    shipped_names = sorted({target.framework for target in load_shipped().targets})

    async def has(*names: str) -> bool:
        return [one["framework"] for one in (await fetch(http, "/"))["frameworks"]] == list(names)

    assert await has(*shipped_names)
    campaign = await send(http, lines)
    await async_until(lambda: has("hazards"), "the atlas has the campaign's evidence")
    assert SHIPS not in (await http.get("/")).text
    answer = await http.delete(f"/api/v1/campaigns/{campaign}")
    assert answer.status_code == 200, answer.text
    await async_until(lambda: has(*shipped_names), "the atlas has lost the campaign's evidence")


async def test_without_a_campaign_the_atlas_is_of_the_evidence_that_ships(http: httpx.AsyncClient) -> None:
    whole = whole_atlas(load_shipped())
    front = await fetch(http, "/")
    assert front["origin"] == "ships with Portolan"
    assert [(one["framework"], one["functions"]) for one in front["frameworks"]] == [
        (framework.name, len(framework.functions)) for framework in whole.frameworks
    ]
    assert whole.scope in (await http.get("/")).text
    for framework in whole.frameworks:
        column = framework.columns[0]
        name = min(name for name, cases in column.evidence.functions.items() if operations_met(cases))
        path = f"/atlas/{as_link(function_path(name))}"
        assert column.cells[name].mark in [cell["mark"] for cell in await of_function(http, name)]
        paths = [path, f"/atlas/{as_link(target_path(column.target, column.evidence.hardware))}"]
        pages = [(await http.get(path)).text for path in paths]
        assert all(SHIPS in page for page in pages)
        (own, *_), (every, *_) = (re.findall(r'href="(/atlas/operations/[^"]+)"', page) for page in pages)
        for operation in (own, every):
            assert "functions/" in (await http.get(operation)).text
    assert (await http.get("/atlas/operations/torch-none.html")).status_code == 404


async def test_the_atlas_of_the_evidence_that_ships_is_begun_soon_after_the_start(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("coordinator.atlas.keeper.START_S", 0.0)
    engine = make_engine(application(database), pool_size=1)
    keeper = AtlasKeeper(engine, application(database))
    keeper.prepare()

    async def is_being_built() -> bool:
        return "atlas" in {task.get_name() for task in asyncio.all_tasks()}

    await async_until(is_being_built, "it is being built, though nobody asked")
    assert (await keeper.current()).atlas.ships
    await keeper.close()
    await engine.dispose()


async def test_a_first_result_during_the_build_of_the_shipped_atlas_is_what_the_next_reader_gets(
    http: httpx.AsyncClient, database: str, lines: Lines
) -> None:
    engine = make_engine(application(database), pool_size=2)
    keeper = AtlasKeeper(engine, application(database))
    first_reader = asyncio.create_task(keeper.current())

    async def is_being_built() -> bool:
        return "atlas" in {task.get_name() for task in asyncio.all_tasks()}

    await async_until(is_being_built, "the shipped atlas is being built")
    await send(http, lines)
    assert [framework.name for framework in (await keeper.current()).atlas.frameworks] == ["hazards"]
    await first_reader
    await keeper.close()
    await engine.dispose()


async def test_the_front_page_is_made_once_for_each_atlas(http: httpx.AsyncClient, database: str, lines: Lines) -> None:
    engine = make_engine(application(database), pool_size=1)
    keeper = AtlasKeeper(engine, application(database))
    empty = (await keeper.current()).front
    assert (await keeper.current()).front is empty
    await send(http, lines)

    async def is_another() -> bool:
        return (await keeper.current()).front is not empty

    await async_until(is_another, "the front page has the campaign's evidence")
    front = (await keeper.current()).front
    assert [framework.name for framework in front.values["atlas"].frameworks] == ["hazards"]
    assert (await keeper.current()).front is front
    await keeper.close()
    await engine.dispose()


async def test_the_atlas_of_many_outcomes_is_begun_at_the_start_and_nobody_waits_for_it(
    database: str, lines: Lines
) -> None:
    async with app_client(database, path="") as first_client:
        await send(first_client, lines)
    owner, watcher = await asyncpg.connect(database), await asyncpg.connect(database)
    await owner.execute("UPDATE campaign_targets SET done = $1", SMALL + 1)

    async def is_reading() -> bool:
        return bool(
            await watcher.fetchval(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
                " AND application_name = 'portolan atlas' AND wait_event_type = 'Lock'"
            )
        )

    async with owner.transaction():
        await owner.execute("LOCK TABLE outcomes")
        async with app_client(database, path="") as client:
            await async_until(is_reading, "it reads the outcomes, though nobody asked")
            answer = await client.get("/", params={"as": "json"})
            assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
            assert answer.json()["title"] == "The atlas is being put together"
            assert f"{SMALL + 1:,} outcomes are being read" in answer.json()["detail"]
            page = await client.get("/", headers={"Accept": "text/html"})
            assert page.status_code == 503
            assert 'href="/campaigns"' in page.text
            assert (await client.get("/campaigns")).status_code == 200
    async with app_client(database, path="") as client:

        async def is_there() -> bool:
            return (await client.get("/")).is_success

        await async_until(is_there, "the atlas is there")
        assert [one["framework"] for one in (await fetch(client, "/"))["frameworks"]] == ["hazards"]
    await watcher.close()
    await owner.close()


async def test_a_reader_is_told_why_the_attempt_before_failed(database: str, lines: Lines) -> None:
    async with app_client(database, path="") as client:
        await send(client, lines)
    owner = await asyncpg.connect(database)
    await owner.execute("UPDATE campaign_targets SET done = $1", SMALL + 1)
    await owner.close()
    engine = make_engine(application(database), pool_size=2)
    with socket.socket() as unused_socket:
        unused_socket.bind(("127.0.0.1", 0))
        away = f"postgresql://nobody@127.0.0.1:{unused_socket.getsockname()[1]}/none"
        keeper = AtlasKeeper(engine, away)

        async def says_why() -> bool:
            with pytest.raises(AtlasPendingError) as excinfo:
                await keeper.current()
            return "Connect call failed" in str(excinfo.value)

        await async_until(says_why, "a reader is told")
        await keeper.close()
    await engine.dispose()


async def test_the_cpu_is_in_the_atlas(http: httpx.AsyncClient, lines: Lines) -> None:
    on_host = [{**lines[0], "runner": {**lines[0]["runner"], "device": "cpu"}}, *lines[1:]]
    await send(http, on_host)
    (framework,) = (await fetch(http, "/"))["frameworks"]
    assert [one["target"].partition("/")[2] for one in framework["targets"]] == ["cpu"]


async def test_a_function_that_nobody_charted_has_a_page_and_a_misspelt_one_gets_the_nearest_name(
    http: httpx.AsyncClient, lines: Lines
) -> None:
    await send(http, lines)
    answer = await http.get(f"/atlas/{as_link(function_path('torch.multinomial'))}")
    assert answer.status_code == 200
    assert "No campaign here has charted it yet." in answer.text
    answer = await http.get("/atlas/functions/hazards.addd.html")
    assert answer.status_code == 404
    assert "did you mean hazards.add" in json.dumps(answer.json())
    for path in ("/atlas/frameworks/none.html", "/atlas/modules/nowhere.html", "/atlas/targets/nothing.html"):
        assert (await http.get(path)).status_code == 404


async def test_the_front_leads_to_each_function_by_module(http: httpx.AsyncClient, lines: Lines) -> None:
    await send(http, lines)
    path = f"/atlas/{as_link(framework_path('hazards'))}"
    assert f'href="{path}"' in (await http.get("/")).text
    module = f"/atlas/{as_link(module_path('hazards'))}"
    assert f'href="{module}"' in (await http.get(path)).text
    assert f'href="/atlas/{as_link(function_path("hazards.add"))}"' in (await http.get(module)).text


async def test_the_page_of_a_target_leads_to_the_operations_of_the_newest_campaign_of_its_suite(
    http: httpx.AsyncClient, lines: Lines
) -> None:
    await send(http, lines)
    later_lines = [
        {name: value.replace("20", "21", 1) if name.endswith("_at") else value for name, value in line.items()}
        for line in lines
    ]
    newest = await send(http, later_lines)
    (framework,) = (await fetch(http, "/"))["frameworks"]
    (target,) = framework["targets"]
    page = await http.get(f"/atlas/{as_link(target_path(target['target'], target['hardware']))}")
    assert re.findall(r'href="(/campaigns/\d+/operations)"', page.text) == [f"/campaigns/{newest}/operations"]
    assert (await http.get(f"/campaigns/{newest}/operations")).status_code == 200


async def test_the_page_of_a_function_leads_to_the_operations_of_its_campaign(
    http: httpx.AsyncClient, lines: Lines
) -> None:
    failing_lines = copy.deepcopy(lines)
    for line in failing_lines[1:]:
        if line["case"].startswith("hazards.fail"):
            line["outcome"]["evidence"]["operation"] = "aten::isin"
    campaign = await send(http, failing_lines)
    page = await http.get(f"/atlas/{as_link(function_path('hazards.fail'))}")
    address = f"/campaigns/{campaign}/operations?operation=aten%3A%3Aisin"
    assert f'href="{address}">aten::isin</a>' in page.text
    assert "hazards.fail" in (await http.get(address)).text
    (cell,) = await of_function(http, "hazards.fail")
    assert [(one["operation"], one["met"]) for one in cell["operations"]] == [("aten::isin", "failed")]


async def test_a_search_without_scripts_lists_what_it_found(http: httpx.AsyncClient, lines: Lines) -> None:
    await send(http, lines)
    page = (await http.get("/", params={"q": "ADD"})).text
    assert "hazards.<wbr>add</a>" in page
    assert "No function that was charted" in (await http.get("/", params={"q": "no such"})).text
