"""The time that a call with a second shape takes is equal on pages, over REST and on the command line."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import asyncpg
import pytest

from protocol.enums import RECOMPILED
from tests.acceptance.test_one_read_side import Run, World, campaign, serve_world, text_of

CPU, XLA = "a fast CPU", "a fast CPU (xla)"
DEVICES = {CPU: "cpu", XLA: "xla"}
SENTENCE = "second shape takes 42 ms the first time; the first call in its process takes 5 ms"
OUTCOMES = {
    "torch.exp/0": [Run(1.0, 5.0), Run(1.0, 2.0)],
    "torch.exp/1-recompiled": [Run(None, 40.0), Run(None, 44.0)],
    "torch.sin/0": [Run(1.0, 5.0), Run(1.0, 2.0)],
    "torch.sin/1-recompiled": [Run(verdict="failed", cause="type"), Run(verdict="failed", cause="type")],
}


async def fill(dsn: str) -> dict[str, int]:
    connection = await asyncpg.connect(dsn)
    await connection.execute("insert into fingerprints (id, body) values ('harbour', '{}')")
    targets = {
        name: await connection.fetchval(
            "insert into targets (framework, version, device, device_class, hardware, environment)"
            " values ('torch', '2.9.0', $1, 'cpu', $2, 'e') returning id",
            device,
            name,
        )
        for name, device in DEVICES.items()
    }
    outcomes = {(case, name): runs for case, runs in OUTCOMES.items() for name in targets}
    await campaign(connection, "first", "library", targets, outcomes)
    recompiled = "name like '%-recompiled'"
    await connection.execute(f"update cases set tags = $1 where {recompiled}", json.dumps([RECOMPILED]))
    await connection.execute(
        f"update outcomes set position = 1 where case_id in (select id from cases where {recompiled})"
    )
    await connection.close()
    return targets


@pytest.fixture(scope="module")
def world(new_database: Callable[..., str]) -> Iterator[World]:
    with serve_world(new_database(), fill) as world:
        yield world


def test_the_pages_of_a_function_say_what_a_second_shape_takes(world: World) -> None:
    for path in ("/campaigns/1/functions/torch/torch.exp", "/atlas/functions/torch.exp.html"):
        assert text_of(world.page(path)).count(f"A {SENTENCE}.") == len(DEVICES), path


def test_they_say_nothing_where_no_second_shape_was_timed(world: World) -> None:
    for path in ("/campaigns/1/functions/torch/torch.sin", "/atlas/functions/torch.sin.html"):
        assert "A second shape" not in text_of(world.page(path)), path


def test_as_json_the_case_says_that_its_shape_is_the_second(world: World) -> None:
    for target in _targets_as_json(world, "torch.exp"):
        times = {case["case"]: (case["recompiled"], case["cold_ms"], case["first_cold_ms"]) for case in target["cases"]}
        assert times == {"torch.exp/0": (False, 3.5, 5.0), "torch.exp/1-recompiled": (True, 42.0, None)}
        assert target["second_shape"] == {"shape_ms": 42.0, "process_ms": 5.0}
    assert [target["second_shape"] for target in _targets_as_json(world, "torch.sin")] == [None] * len(DEVICES)


def _targets_as_json(world: World, function: str) -> list[dict[str, Any]]:
    address = f"{world.coordinator.url}/campaigns/1/functions/torch/{function}"
    targets: list[dict[str, Any]] = world.coordinator.http.get(address, params={"as": "json"}).json()["targets"]
    return targets


def test_a_cell_of_the_matrix_has_both_times(world: World) -> None:
    rows = {row["function"]: row["cells"].values() for row in world.get("/campaigns/1/matrix")["rows"]}
    times = {
        function: [(cell["second_shape_ms"], cell["first_cold_ms"]) for cell in cells]
        for function, cells in rows.items()
    }
    assert times == {"torch.exp": [(42.0, 5.0)] * len(DEVICES), "torch.sin": [(None, 5.0)] * len(DEVICES)}


def test_the_published_form_of_a_function_has_both_times(world: World) -> None:
    answer = world.coordinator.http.get(
        f"{world.coordinator.url}/atlas/functions/torch.exp.html", params={"as": "json"}
    ).json()
    cells = answer["functions"]["torch.exp"]["cells"]
    assert [(cell["second_shape_ms"], cell["first_call_ms"]) for cell in cells] == [(42.0, 5.0)] * len(DEVICES)


def test_can_i_says_what_a_second_shape_takes(world: World) -> None:
    assert f"  a {SENTENCE}\n" in world.run_command("can-i", "torch.exp", "--on", "torch/xla")
    answer = json.loads(world.run_command("can-i", "torch.exp", "--on", "torch/xla", "--json"))
    assert (answer["works"], answer["second_shape"]) == (True, {"shape_ms": 42.0, "process_ms": 5.0})
