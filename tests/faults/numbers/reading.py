"""Requests everything that shows a campaign. Each response has status 200 and only finite numbers."""

from __future__ import annotations

import io
import itertools
import json
import math
import re
from collections.abc import Sequence
from typing import Any

import httpx
import pyarrow.parquet as pq

NOT_FINITE = re.compile(r"(?<![\w./-])[-+]?(?:nan|inf|infinity)(?![\w.-])", re.IGNORECASE)
API = "/api/v1"


def refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is no JSON")


async def read(client: httpx.AsyncClient, path: str) -> httpx.Response:
    answer = await client.get(path)
    assert answer.status_code == 200, f"{path}: {answer.status_code} {answer.text[:500]}"
    if answer.headers["content-type"].startswith(("text/", "image/svg")):
        # A name may wrap within a word, at a place that the tag marks.
        words = re.sub(r"<(style|script|pre).*?</\1>|<wbr>", "", answer.text, flags=re.DOTALL)
        match = NOT_FINITE.search(words)
        assert match is None, f"{path}: {words[max(0, match.start() - 200) : match.end() + 50]}"
    return answer


async def json_of(client: httpx.AsyncClient, path: str) -> Any:
    return json.loads((await read(client, path)).content, parse_constant=refuse)


async def read_everything(
    client: httpx.AsyncClient, campaign: int, framework: str, measures: Sequence[str] = ("level",)
) -> None:
    base = f"{API}/campaigns/{campaign}"
    await json_of(client, base)
    await json_of(client, f"{API}/campaigns")
    rows = (await json_of(client, f"{base}/outcomes"))["outcomes"]
    await read(client, f"{base}/outcomes?format=csv")
    export = await read(client, f"{base}/outcomes?format=parquet")
    stored_rows = pq.read_table(io.BytesIO(export.content)).to_pylist()
    assert len(stored_rows) == len(rows)
    assert all(math.isfinite(value) for row in stored_rows for value in row.values() if isinstance(value, float))
    await json_of(client, f"{base}/summary")
    await json_of(client, f"{base}/matrix")
    for measure in measures:
        for table in (await json_of(client, f"{base}/tables?measure={measure}"))["tables"]:
            await json_of(client, f"{base}/tables/{table['id']}?measure={measure}")
            await read(client, f"{base}/tables/{table['id']}?measure={measure}&format=csv")
        for figure in (await json_of(client, f"{base}/figures?measure={measure}"))["figures"]:
            if figure["drawn"]:
                await json_of(client, f"{base}/figures/{figure['id']}?measure={measure}&format=json")
                await read(client, f"{base}/figures/{figure['id']}?measure={measure}")
        await read(client, f"{base}/report?measure={measure}")
    for one, other in itertools.combinations(sorted({row["device"] for row in rows}), 2):
        sides = f"a={campaign}:{framework}/{one}&b={campaign}:{framework}/{other}"
        await json_of(client, f"{API}/compare?{sides}")
        await read(client, f"/compare?{sides}")
    for page in ("", "/matrix", "/figures", "/report"):
        await read(client, f"/campaigns/{campaign}{page}")
    for function in {row["function"] for row in rows}:
        await json_of(client, f"{API}/history/{framework}/{function}")
        await read(client, f"/campaigns/{campaign}/functions/{framework}/{function}")
    for row in rows:
        await read(client, f"/campaigns/{campaign}/outcomes/{row['job_id']}")
