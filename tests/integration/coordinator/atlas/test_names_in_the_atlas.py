"""A function with two names, or that was moved, is in the atlas under the name that was charted. Its other names
redirect there."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from coordinator.atlas.addresses import as_link, function_path
from tests import bundles
from tests.app_client import app_client


@pytest.fixture
async def http(database: str) -> AsyncIterator[httpx.AsyncClient]:
    async with app_client(database, path="") as client:
        yield client


async def test_each_name_of_a_function_leads_to_the_page_of_the_charted_one(
    http: httpx.AsyncClient, tmp_path: Path
) -> None:
    charted_names = {"torch.acos": "hazards.add", "torch.nn.functional.avg_pool1d": "hazards.fail"}
    content = bundles.as_torch(tmp_path / "torch.bundle", charted_names).read_bytes()
    answer = await http.post(f"/api/v1{bundles.UPLOAD}", headers=bundles.HEADERS, content=content)
    assert answer.status_code == 201, answer.text
    for other_name, name in (
        ("torch.Tensor.acos", "torch.acos"),
        ("torch.avg_pool1d", "torch.nn.functional.avg_pool1d"),
    ):
        answer = await http.get(f"/atlas/{as_link(function_path(other_name))}")
        assert answer.headers["location"] == f"/atlas/{as_link(function_path(name))}"
        assert name in (await http.get(answer.headers["location"])).text
