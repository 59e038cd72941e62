"""Imports of bundles into a real database, over the real application: completely and once, or not at all."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest

from coordinator.bundles import service
from coordinator.errors import BundleTooLargeError
from protocol.bundle import MAX_BYTES
from tests import bundles
from tests.app_client import app_client

TABLES = ("campaigns", "campaign_targets", "jobs", "outcomes", "suites", "cases", "targets", "fingerprints")


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Seven cases of the hazards in two runs, as the runner wrote them."""
    return bundles.make(tmp_path_factory.mktemp("bundle") / "hazards.bundle").read_bytes()


@pytest.fixture
async def http(database: str) -> AsyncIterator[httpx.AsyncClient]:
    async with app_client(database) as client:
        yield client


async def counts(dsn: str) -> dict[str, int]:
    connection = await asyncpg.connect(dsn)
    try:
        return {table: await connection.fetchval(f"select count(*) from {table}") for table in TABLES}
    finally:
        await connection.close()


async def test_a_bundle_becomes_a_campaign_that_is_done(http: httpx.AsyncClient, bundle: bytes) -> None:
    answer = await http.post(
        bundles.UPLOAD, headers=bundles.HEADERS, content=bundle, params={"name": "from the island", "unsigned": "true"}
    )
    assert answer.status_code == 201, answer.text
    campaign = answer.json()
    header, *lines = bundles.lines_of(bundle)
    assert answer.headers["location"] == f"/api/v1/campaigns/{campaign['id']}"
    assert (campaign["name"], campaign["state"], campaign["runs"]) == ("from the island", "done", bundles.RUNS)
    assert campaign["created_at"] == header["begun_at"]
    assert campaign["finished_at"] == lines[-1]["finished_at"]
    assert campaign["imported_at"] is not None
    verdicts = [line["outcome"]["verdict"] for line in lines]
    assert campaign["counters"]["total"] == campaign["counters"]["done"] == len(lines) == 14
    assert {word: campaign["counters"][word] for word in ("passed", "failed", "skipped", "incomplete")} == {
        word: verdicts.count(word) for word in ("passed", "failed", "skipped", "incomplete")
    }
    (target,) = campaign["by_target"]
    assert target["hardware"] == header["runner"]["fingerprint"]["hardware"]
    assert target["suite_revision"] == header["suite"]["revision"]
    assert target["live_runners"] == 0


async def test_its_outcomes_are_those_of_the_bundle_with_causes(http: httpx.AsyncClient, bundle: bytes) -> None:
    campaign = (await http.post(bundles.UPLOAD, headers=bundles.HEADERS, content=bundle)).json()["id"]
    rows = (await http.get(f"/campaigns/{campaign}/outcomes")).json()["outcomes"]
    header, *lines = bundles.lines_of(bundle)
    assert [(row["case"], row["run"]) for row in rows] == [(line["case"], line["run"]) for line in lines]
    for row, line in zip(rows, lines, strict=True):
        outcome = line["outcome"]
        assert (row["verdict"], row["ending"], row["placement"]) == (
            outcome["verdict"],
            outcome["ending"],
            outcome["placement"],
        )
        assert row["duration_s"] == outcome["duration_s"]
        assert row["message"] == (outcome["evidence"] or {}).get("message")
        assert row["finished_at"] == line["finished_at"]
        assert row["fingerprint"] == header["runner"]["fingerprint"]
        assert row["runner_id"] is None
    causes = {row["function"]: row["cause"] for row in rows if row["verdict"] != "passed"}
    assert causes["hazards.segfault"] == "crash"
    assert causes["hazards.gone"] == "removed"
    matrix = (await http.get(f"/campaigns/{campaign}/matrix")).json()
    verdicts = {
        row["function"]: cell["counts"]["anywhere"]["verdict"]
        for row in matrix["rows"]
        for cell in row["cells"].values()
    }
    assert verdicts == {
        "hazards.add": "partial",
        "hazards.fail": "complete",
        "hazards.gone": "unknown",
        "hazards.segfault": "complete",
    }


async def test_nobody_is_there_to_claim_for_or_to_show(http: httpx.AsyncClient, bundle: bytes) -> None:
    assert (await http.post(bundles.UPLOAD, headers=bundles.HEADERS, content=bundle)).status_code == 201
    assert (await http.get("/runners")).json() == {"runners": []}
    assert (await http.get("/catalogue")).json()["suites"] == []
    answer = await http.post("/campaigns", json={"suite": "hazards", "targets": ["hazards/cpu"]})
    assert answer.status_code == 422
    assert "no live runner" in answer.json()["detail"]


async def test_the_same_bundle_again_is_the_same_campaign(
    http: httpx.AsyncClient, bundle: bytes, database: str
) -> None:
    first = await http.post(bundles.UPLOAD, headers=bundles.HEADERS, content=bundle)
    rows_before = await counts(database)
    again = await http.post(
        bundles.UPLOAD, headers=bundles.HEADERS, content=bundle, params={"name": "another name", "unsigned": "true"}
    )
    assert (first.status_code, again.status_code) == (201, 200)
    assert again.json() == first.json()
    assert await counts(database) == rows_before
    # Nor does it use up a number: people notice when campaigns are missing.
    other = bundles.lines_of(bundle)
    other[0]["begun_at"] = "2020-01-01T00:00:00Z"
    next_one = await http.post(bundles.UPLOAD, headers=bundles.HEADERS, content=bundles.sealed(other))
    assert next_one.json()["id"] == first.json()["id"] + 1


async def test_imported_at_once_through_two_coordinators(database: str, bundle: bytes) -> None:
    async with app_client(database) as one, app_client(database) as other:
        answers = await asyncio.gather(
            *(client.post(bundles.UPLOAD, headers=bundles.HEADERS, content=bundle) for client in (one, other) * 4)
        )
    assert sorted(answer.status_code for answer in answers) == [200] * 7 + [201]
    assert len({answer.json()["id"] for answer in answers}) == 1
    row_counts = await counts(database)
    assert (row_counts["campaigns"], row_counts["jobs"], row_counts["outcomes"]) == (1, 14, 14)


def _with_lines(change: Callable[[list[dict[str, Any]]], object]) -> Callable[[bytes], bytes]:
    """Change the lines and compute the checksum again, so that only the content is wrong."""

    def apply(bundle: bytes) -> bytes:
        lines = bundles.lines_of(bundle)
        change(lines)
        return bundles.sealed(lines)

    return apply


def _without_last_byte_of_end(bundle: bytes) -> bytes:
    return bundle[:-1]


BAD: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "empty": (lambda bundle: b"", "not a bundle"),
    "text": (lambda bundle: b"hello\n", "not a bundle"),
    "other JSON": (lambda bundle: b'{"type": "package"}\n', "not a bundle"),
    "binary": (lambda bundle: bytes(range(256)) * 100, "not a bundle"),
    "cut off within a line": (lambda bundle: bundle[: len(bundle) // 2], "cut off in line"),
    "cut off between lines": (lambda bundle: b"".join(bundle.splitlines(keepends=True)[:-1]), "cut off in line 16"),
    "end without a line break": (_without_last_byte_of_end, "cut off in line"),
    "one digit changed": (lambda bundle: bundle.replace(b'"run":1', b'"run":2', 1), "has a second outcome"),
    "a verdict changed": (lambda bundle: bundle.replace(b'"failed"', b'"passed"', 1), "checksum"),
    "a byte that is no text": (lambda bundle: bundle[:-300] + b"\xff" + bundle[-299:], "line"),
    "goes on": (lambda bundle: bundle + b"{}\n", "continues after its last line"),
    "two in one": (lambda bundle: bundle + bundle, "continues after its last line"),
    "an outcome missing": (_with_lines(lambda lines: lines.pop(3)), "13 of 14 outcomes"),
    "an outcome twice": (_with_lines(lambda lines: lines.append(lines[1])), "has a second outcome"),
    "an unknown case": (_with_lines(lambda lines: lines[1].update(case="hazards.add/9")), "header does not list"),
    "a run too many": (_with_lines(lambda lines: lines[1].update(run=3)), "header does not list"),
    "an outcome with more": (
        _with_lines(lambda lines: lines[1]["outcome"].update(cause="type")),
        "not a valid outcome",
    ),
    "a negative duration": (_with_lines(lambda lines: lines[1]["outcome"].update(duration_s=-1)), "duration_s"),
    "a newer format": (_with_lines(lambda lines: lines[0].update(format=2, portolan="9.0")), "made by portolan 9.0"),
    "another protocol": (_with_lines(lambda lines: lines[0]["runner"].update(protocol=2)), "protocol 2"),
    "no cases": (_with_lines(lambda lines: lines[0]["suite"].update(cases=[])), "names no case"),
    "too many runs": (_with_lines(lambda lines: lines[0].update(runs=101)), "header, is not valid (runs: "),
    "too large a number": (
        _with_lines(lambda lines: lines[1]["outcome"]["timing"].update(position=1 << 40)),
        "outcome.timing.position: ",
    ),
    "NUL in a name": (_with_lines(lambda lines: lines[0]["runner"].update(version="1\0")), "must not contain NUL"),
}


@pytest.mark.parametrize("kind", BAD)
async def test_what_is_not_a_good_bundle_is_refused_and_leaves_nothing(
    kind: str, http: httpx.AsyncClient, bundle: bytes, database: str
) -> None:
    spoil, words = BAD[kind]
    bad = spoil(bundle)
    assert bad != bundle
    answer = await http.post(bundles.UPLOAD, headers=bundles.HEADERS, content=bad)
    assert answer.status_code == 422, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert words in answer.json()["detail"]
    assert set((await counts(database)).values()) == {0}


async def test_a_declared_size_over_the_limit_is_refused_before_the_body(http: httpx.AsyncClient) -> None:
    answer = await http.post(
        bundles.UPLOAD, content=b"", headers=bundles.HEADERS | {"Content-Length": str(MAX_BYTES + 1)}
    )
    assert answer.status_code == 413
    assert "larger than the limit of 1,024 MiB" in answer.json()["detail"]


async def test_an_undeclared_size_is_refused_where_it_passes_the_limit() -> None:
    chunks = 0

    async def pieces() -> AsyncIterator[bytes]:
        nonlocal chunks
        while True:
            chunks += 1
            yield bytes(1 << 20)

    with pytest.raises(BundleTooLargeError, match="larger than the limit of 4 MiB"):
        async with service.receive(pieces(), limit=4 << 20):
            pass
    assert chunks == 5


async def test_odd_text_in_the_evidence_is_stored(http: httpx.AsyncClient, bundle: bytes) -> None:
    lines = bundles.lines_of(bundle)
    lines[1]["outcome"] |= {"evidence": {"message": "\N{REPLACEMENT CHARACTER} and 𝄞"}, "log_tail": "x\x01y"}
    answer = await http.post(bundles.UPLOAD, headers=bundles.HEADERS, content=bundles.sealed(lines))
    assert answer.status_code == 201, answer.text
    rows = (await http.get(f"/campaigns/{answer.json()['id']}/outcomes")).json()["outcomes"]
    assert rows[0]["message"] == "\N{REPLACEMENT CHARACTER} and 𝄞"
    assert json.dumps(rows)


def test_the_runner_wrote_every_line_as_the_protocol_says(bundle: bytes, tmp_path: Path) -> None:
    """The models write the same bytes again."""
    from protocol.bundle import BundledOutcome, BundleEnd, BundleHeader

    first, *middle, last = bundle.splitlines()
    assert BundleHeader.model_validate_json(first).model_dump_json().encode() == first
    assert all(BundledOutcome.model_validate_json(line).model_dump_json().encode() == line for line in middle)
    assert BundleEnd.model_validate_json(last).model_dump_json().encode() == last
