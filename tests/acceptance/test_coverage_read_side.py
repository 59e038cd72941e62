"""Coverage: the share of a framework that suites and campaigns test is equal on every surface.

Names and uses were looked up by hand in the surface and the counts that ship with Portolan.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator
from typing import Any

import asyncpg
import pytest

from tests.acceptance.test_one_read_side import Run, World, campaign, serve_world, text_of

CPU, XLA = "a fast CPU", "a slow CPU"
RAN = [Run(1.0, 2.0), Run(1.0, 2.0)]
FAILED = [Run(verdict="failed", cause="type")] * 2
GONE = [Run(verdict="skipped", cause="removed", placement="unknown")] * 2
OUTCOMES = {
    ("torch.add/0", CPU): RAN,
    ("torch.add/0", XLA): FAILED,
    # Programs write it as torch.nn.functional.conv2d.
    ("torch.conv2d/0", CPU): RAN,
    ("torch.Tensor.add_/0", XLA): FAILED,
    ("torch.no_grad/0", CPU): RAN,
    ("torch.mul/0", CPU): GONE,
    ("torch.once/0", CPU): RAN,
}
"""Coverage of the campaign. No case of torch.mul counts."""
USES = {"torch.add": 48, "torch.conv2d": 1, "torch.Tensor.add_": 16, "torch.mul": 57}
TWINS = 132
FUNCTIONS, MEMBERS = 2, 1
SUITE_FUNCTIONS, SUITE_USES = 3, sum(USES.values())


async def fill(dsn: str) -> dict[str, int]:
    connection = await asyncpg.connect(dsn)
    for host in ("harbour", "pier"):
        await connection.execute("insert into fingerprints (id, body) values ($1, '{}')", host)
    targets = {
        hardware: await connection.fetchval(
            "insert into targets (framework, version, device, device_class, hardware, environment)"
            " values ('torch', '2.9.0', $1, 'cpu', $2, 'e') returning id",
            *(device, hardware),
        )
        for hardware, device in ((CPU, "cpu"), (XLA, "xla"))
    }
    await campaign(connection, "first", "paper", targets, OUTCOMES)
    other = await connection.fetchval(
        "insert into targets (framework, version, device, device_class, hardware, environment)"
        " values ('torch', '2.13.0', 'cpu', 'cpu', $1, 'e') returning id",
        CPU,
    )
    await campaign(connection, "a release without a surface", "library", {CPU: other}, {("torch.add/0", CPU): RAN})
    runner = await connection.fetchval(
        "insert into runners (url, secret, target_id, fingerprint_id, device_count, slots, queue_limit, state, boot_id)"
        " values ('http://127.0.0.1:9', 's', $1, 'harbour', 1, 1, 64, 'offline', 'b') returning id",
        targets[CPU],
    )
    await connection.execute("insert into runner_suites select $1, id from suites", runner)
    await connection.close()
    return targets


@pytest.fixture(scope="module")
def world(new_database: Callable[..., str]) -> Iterator[World]:
    with serve_world(new_database(), fill) as world:
        yield world


def words(share: dict[str, int]) -> str:
    """A share as users read it."""
    return f"{share['charted']:,}/{share['of']:,} ({100 * share['charted'] / share['of']:.1f} %)"


@pytest.fixture(scope="module")
def suites(world: World) -> dict[tuple[str, str], dict[str, Any]]:
    """Coverage of the suites, by release and suite, from REST."""
    releases = world.get("/coverage")["releases"]
    return {
        (release["release"], row["suite"]): row
        for release in releases
        for row in (*release["suites"], release["together"])
    }


def test_suites_are_set_beside_each_release_of_their_framework(suites: dict[tuple[str, str], dict[str, Any]]) -> None:
    assert suites.keys() == {
        (release, suite) for release in ("torch@2.9.0", "torch@2.15.0") for suite in ("library", "paper", "all suites")
    }
    paper = suites["torch@2.9.0", "paper"]
    assert (paper["functions"]["charted"], paper["members"]["charted"]) == (SUITE_FUNCTIONS, MEMBERS)
    assert (paper["uses"]["charted"], paper["uses"]["twins"]) == (SUITE_USES, TWINS)
    assert paper["uses"]["of"] > 100_000
    assert (paper["host_only"]["charted"], paper["removed"]) == (1, ["torch.once"])
    assert suites["torch@2.9.0", "all suites"]["uses"] == paper["uses"], "the library's one function is in both"


def test_the_terminal_and_the_page_show_the_same_of_suites(
    world: World, suites: dict[tuple[str, str], dict[str, Any]]
) -> None:
    command_rows = json.loads(world.run_command("catalogue", "coverage", "--json"))
    assert {(row["release"], row["suite"]): row for row in command_rows} == suites
    lines = world.run_command("catalogue", "coverage").splitlines()
    page = text_of(world.page("/coverage"))
    answer = world.coordinator.http.get(f"{world.coordinator.url}/coverage", params={"as": "csv"})
    records = {(row["release"], row["suite"]): row for row in csv.DictReader(io.StringIO(answer.text))}
    for (release, suite), row in suites.items():
        (line,) = [line for line in lines if line.startswith(suite) and release in line]
        for name in ("functions", "members", "uses", "guessed", "host_only"):
            assert words(row[name]) in line, (release, suite, name)
            # The page has the percentage in a line of its own.
            assert words(row[name]).replace("(", "").replace(")", "") in page, (release, suite, name)
            record = records[release, suite]
            assert (record[f"{name}_charted"], record[name]) == (str(row[name]["charted"]), str(row[name]["of"]))
        assert records[release, suite]["uses_by_other_names"] == str(row["uses"]["twins"])
    assert "torch.nn.Linear" in page, "it is used more than any other that no suite charts"
    assert 'href="/coverage"' in world.page("/campaigns")


def test_a_campaign_charts_what_has_a_case_that_counts(world: World) -> None:
    (release,) = world.get("/campaigns/1/coverage")["releases"]
    assert (release["release"], release["instead_of"]) == ("torch@2.9.0", None)
    assert (release["functions"]["charted"], release["members"]["charted"]) == (FUNCTIONS, MEMBERS)
    assert (release["uses"]["charted"], release["uses"]["twins"]) == (SUITE_USES - USES["torch.mul"], TWINS)
    assert release["host_only"]["charted"] == 1


def test_a_campaigns_coverage_is_the_same_on_every_surface(world: World) -> None:
    (release,) = world.get("/campaigns/1/coverage")["releases"]
    shares = [words(release[name]) for name in ("functions", "members", "uses")]
    (sentence,) = [
        sentence
        for sentence in world.get("/campaigns/1/summary")["sections"][0]["sentences"]
        if sentence.startswith("Of torch@2.9.0 it charted")
    ]
    assert all(share in sentence for share in shares)
    for path in ("/campaigns/1", "/campaigns/1/matrix", "/campaigns/1/report"):
        assert sentence in text_of(world.page(path)), path
    assert sentence in world.run_command("results", "1")
    (row,) = world.get("/campaigns/1/tables/coverage")["rows"]
    for name in ("functions", "members", "uses", "guessed", "host_only"):
        assert (row[f"{name}_charted"], row[name]) == (release[name]["charted"], release[name]["of"])
    assert row["uses_by_other_names"] == release["uses"]["twins"]


def test_a_release_without_a_surface_is_set_beside_the_nearest_and_that_is_said(world: World) -> None:
    (release,) = world.get("/campaigns/2/coverage")["releases"]
    assert (release["release"], release["instead_of"]) == ("torch@2.9.0", "torch@2.13.0")
    assert "Of torch@2.9.0, the nearest surface to torch@2.13.0, it charted" in text_of(world.page("/campaigns/2"))
