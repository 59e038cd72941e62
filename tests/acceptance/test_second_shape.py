"""What a second shape costs a process that has run a function: on the function's page and as its JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import asyncpg
import pytest

from protocol.enums import RECOMPILED
from tests.acceptance.test_one_read_side import Run, World, campaign, serve_world, text_of

CPU = "a fast CPU"
OUTCOMES = {
    "torch.exp/0": [Run(1.0, 5.0), Run(1.0, 2.0)],
    "torch.exp/1-recompiled": [Run(None, 40.0), Run(None, 44.0)],
    "torch.sin/0": [Run(1.0, 5.0), Run(1.0, 2.0)],
    "torch.sin/1-recompiled": [Run(verdict="failed", cause="type"), Run(verdict="failed", cause="type")],
}


async def fill(dsn: str) -> dict[str, int]:
    connection = await asyncpg.connect(dsn)
    await connection.execute("insert into fingerprints (id, body) values ('harbour', '{}')")
    target = await connection.fetchval(
        "insert into targets (framework, version, device, device_class, hardware, environment)"
        " values ('torch', '2.9.0', 'cpu', 'cpu', $1, 'e') returning id",
        CPU,
    )
    outcomes = {(case, CPU): runs for case, runs in OUTCOMES.items()}
    await campaign(connection, "first", "library", {CPU: target}, outcomes)
    recompiled = "name like '%-recompiled'"
    await connection.execute(f"update cases set tags = $1 where {recompiled}", json.dumps([RECOMPILED]))
    await connection.execute(
        f"update outcomes set position = 1 where case_id in (select id from cases where {recompiled})"
    )
    await connection.close()
    return {CPU: target}


@pytest.fixture(scope="module")
def world(new_database: Callable[..., str]) -> Iterator[World]:
    with serve_world(new_database(), fill) as world:
        yield world


def test_the_page_of_a_function_says_what_a_second_shape_takes(world: World) -> None:
    page = text_of(world.page("/campaigns/1/functions/torch/torch.exp"))
    assert "A second shape takes 42 ms the first time; the first call in its process takes 5 ms." in page


def test_it_says_nothing_where_no_second_shape_was_timed(world: World) -> None:
    assert "A second shape" not in text_of(world.page("/campaigns/1/functions/torch/torch.sin"))


def test_as_json_the_case_says_that_its_shape_is_the_second(world: World) -> None:
    address = f"{world.coordinator.url}/campaigns/1/functions/torch/torch.exp"
    (target,) = world.coordinator.http.get(address, params={"as": "json"}).json()["targets"]
    times = {case["case"]: (case["recompiled"], case["cold_ms"], case["first_cold_ms"]) for case in target["cases"]}
    assert times == {"torch.exp/0": (False, 3.5, 5.0), "torch.exp/1-recompiled": (True, 42.0, None)}
