"""The limits on requests: settings change them by name, every refusal names its limit, and checks take time
proportional to the body."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from coordinator.access.json_scan import require_modest_json
from coordinator.access.slots import Slots
from coordinator.app import create_app
from coordinator.configuration.bounds import Bounds, require_campaign_jobs, require_user_jobs
from coordinator.configuration.settings import Settings
from coordinator.errors import RequestError, SettingError, TooManyError
from coordinator.targets.selectors import select_functions

DOCS = Path(__file__).parents[4] / "docs" / "reference" / "settings.md"


def test_limits_are_set_by_name() -> None:
    assert Bounds.parse(" exports=4, streams = 7,") == Bounds(exports=4, streams=7)
    assert Bounds.parse("") == Bounds()


@pytest.mark.parametrize(
    "text", ["export=4", "exports", "exports=0", "exports=-1", "exports=many", "exports=" + "9" * 99]
)
def test_a_limit_that_is_none(text: str) -> None:
    with pytest.raises(SettingError, match="PORTOLAN_LIMITS"):
        Bounds.parse(text)


def test_every_bound_stands_in_the_docs_with_its_default() -> None:
    text = DOCS.read_text()
    assert [f.name for f in fields(Bounds) if f"| `{f.name}` | {f.default:,} |" not in text] == []


def test_jobs_of_a_campaign_and_of_a_user() -> None:
    bounds = Bounds(campaign_jobs=1000, user_jobs=2000)
    require_campaign_jobs(1000, bounds)
    with pytest.raises(RequestError, match=r"1,001 jobs, but the limit is 1,000") as excinfo:
        require_campaign_jobs(1001, bounds)
    assert excinfo.value.status == 422
    require_user_jobs(1500, 500, "ann", bounds)
    with pytest.raises(TooManyError, match=r"ann has 1,500 jobs .* more than 2,000"):
        require_user_jobs(1500, 501, "ann", bounds)


@pytest.mark.parametrize(
    "body",
    [b'"' * 1_000_000, b'"' + b"\\" * 999_999, b'\\"' * 500_000, b"a" * 1_000_000, b'"' + b'\\"' * 500_000],
    ids=["quotes", "backslashes", "escaped quotes", "nothing", "a text without end"],
)
def test_a_look_at_json_is_linear(body: bytes) -> None:
    began = time.process_time()
    require_modest_json(body, 20_000, 32)
    assert time.process_time() - began < 2.0


def test_a_look_at_a_usual_body_takes_microseconds() -> None:
    body = b'{"suite": "paper", "targets": ["torch/cpu", "jax/cpu"], "functions": ["torch.nn.*"], "runs": 3}'
    began = time.process_time()
    for _ in range(1000):
        require_modest_json(body, 20_000, 32)
    assert (time.process_time() - began) / 1000 < 200e-6


@pytest.mark.parametrize("glob", ["*a" * 100 + "b", "?*" * 100 + "b", "[a-z]*" * 30 + "!", "*" * 199 + "b"])
def test_no_glob_takes_long(glob: str) -> None:
    """The name nearly matches the glob."""
    began = time.process_time()
    with pytest.raises(RequestError):
        select_functions([glob], ["a" * 500, "torch." + "a" * 400])
    assert time.process_time() - began < 2.0


async def test_slots_are_held_in_turn_and_given_back() -> None:
    slots = Slots("exports", 1, waiting=1, each=3)
    order: list[str] = []
    go = asyncio.Event()

    async def work(name: str) -> None:
        async with slots.hold("ann"):
            order.append(name)
            await go.wait()

    first, second = asyncio.create_task(work("first")), asyncio.create_task(work("second"))
    await asyncio.sleep(0)
    with pytest.raises(TooManyError, match="all 1 slots for exports are in use and 1 wait"):
        await work("third")
    assert order == ["first"]
    second.cancel()
    await asyncio.wait([second])
    go.set()
    await first
    await work("fourth")
    assert order == ["first", "fourth"]


async def test_a_slot_that_does_not_come_is_given_up() -> None:
    slots = Slots("exports", 1, waiting=1, each=2, patience_s=0.01)
    async with slots.hold("ann"):
        with pytest.raises(TooManyError):
            async with slots.hold("ann"):
                pass
    async with slots.hold("ann"):
        pass


async def test_one_caller_leaves_room_for_another() -> None:
    slots = Slots("exports", 2, waiting=2, each=1)
    async with slots.hold("ann"):
        with pytest.raises(TooManyError, match="one caller may have at most 1 exports"):
            async with slots.hold("ann"):
                pass
        async with slots.hold("bob"):
            pass
    async with slots.hold("ann"):
        pass


def test_every_field_of_a_request_has_an_end() -> None:
    document = create_app(Settings("postgresql://nobody@nowhere/none")).openapi()
    assert sorted(set(_find_unbounded(document))) == []


def test_a_field_without_end_is_seen() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "string"}}}}
    content = {"application/json": {"schema": schema}}
    document = {"components": {"schemas": {}}, "paths": {"/x": {"post": {"requestBody": {"content": content}}}}}
    assert list(_find_unbounded(document)) == ["post /x.a", "post /x.a[]"]


def _find_unbounded(document: dict[str, Any]) -> Iterator[str]:
    """The places at which a request may have a text, list, number or object without a size limit."""
    schemas = document["components"]["schemas"]

    def look(schema: dict[str, Any], place: str) -> Iterator[str]:
        while "$ref" in schema:
            schema = schemas[schema["$ref"].rpartition("/")[2]]
        for choice in [*schema.get("anyOf", ()), *schema.get("oneOf", ()), *schema.get("allOf", ())]:
            yield from look(choice, place)
        if schema.keys() & {"enum", "const"}:
            return
        ends = {
            "string": {"maxLength", "format"},
            "array": {"maxItems"},
            "integer": {"maximum", "exclusiveMaximum"},
            "number": {"maximum", "exclusiveMaximum"},
        }
        kind = schema.get("type")
        if kind in ends and not schema.keys() & ends[kind]:
            yield place
        if kind == "array":
            yield from look(schema["items"], f"{place}[]")
        if kind == "object":
            if schema.get("additionalProperties", False):
                yield place
            for name, field in schema.get("properties", {}).items():
                yield from look(field, f"{place}.{name}")

    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            for parameter in operation.get("parameters", ()):
                yield from look(parameter["schema"], f"{method} {path}?{parameter['name']}")
            for content in operation.get("requestBody", {}).get("content", {}).values():
                yield from look(content["schema"], f"{method} {path}")
