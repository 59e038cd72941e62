"""Prints the tables of the survey and of the README, from bundles of whole runs.

    python -m scripts.survey torch-xla.bundle tensorflow-xla.bundle

It imports the bundles into a temporary database, and prints each table in Markdown with its campaign. The numbers come
from the promised views. No file is written. A person writes the sentences around the tables, and compares them with the
tables.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from coordinator.bundles.service import import_bundle
from coordinator.database.connection import engine
from coordinator.database.embedded import EmbeddedPostgres
from coordinator.figures.counting import ANYWHERE, CLASS_RULES, INDEPENDENT, ON_DEVICE
from coordinator.migration import upgrade
from coordinator.results.statistics import Rate

RULES = (ANYWHERE, ON_DEVICE, INDEPENDENT, *CLASS_RULES)
INPUTS = (
    *("plain", "empty", "0-dim", "broadcast", "strided", "non-finite", "tails", "sized-odd", "sized-large"),
    *("gradient", "second-order", "jit", "refuses"),
)
TYPES = {
    "float32, float64": "real",
    "float16, bfloat16": "low-precision",
    "integers": "integer",
    "booleans": "boolean",
    "complex": "complex",
}
"""The tags of the classes of dtypes. The keys are the names in the table."""

_RATES = text("""
SELECT count(*) FILTER (WHERE verdict = 'success') AS success, count(*) FILTER (WHERE verdict = 'partial') AS partial,
       count(*) FILTER (WHERE verdict = 'complete') AS complete, count(*) FILTER (WHERE verdict <> 'unknown') AS total
  FROM function_counts WHERE campaign_id = :campaign AND rule = :rule
""")
_CASES = text("""
SELECT count(*) FILTER (WHERE o.verdict = 'failed') AS failed, count(*) AS total
  FROM outcome_rows o JOIN cases c ON c.id = o.case_id
 WHERE o.campaign_id = :campaign AND o.verdict IN ('passed', 'failed') AND c.tags @> CAST(:tag AS jsonb)
""")
_ENDINGS = text("""
SELECT ending, cause, count(*) AS cases, count(DISTINCT function) AS functions
  FROM outcome_rows WHERE campaign_id = :campaign AND verdict = 'failed' GROUP BY 1, 2 ORDER BY 3 DESC
""")
_FALLBACKS = text("""
SELECT name, count(*) AS cases, count(DISTINCT function) AS functions
  FROM outcome_rows CROSS JOIN jsonb_object_keys(fallbacks) name
 WHERE campaign_id = :campaign AND verdict = 'passed' AND placement = 'fell_back' GROUP BY 1 ORDER BY 1
""")
_MISSING = text("""
SELECT count(*) AS functions, coalesce(sum(incomplete), 0) AS cases
  FROM function_verdicts WHERE campaign_id = :campaign AND incomplete > 0
""")
_TITLE = text("""
SELECT DISTINCT framework || ' ' || version || ' on ' || device || ', ' || suite || ' ' || revision AS title
  FROM outcome_rows WHERE campaign_id = :campaign
""")


async def survey(dsn: str, bundles: Sequence[Path]) -> None:
    """Import each bundle and print its tables."""
    await upgrade(dsn)
    database = engine(dsn)
    try:
        for path in bundles:
            with path.open("rb") as file:
                campaign, _ = await import_bundle(database, file, path.stem, "survey")
            async with database.connect() as connection:
                print("\n".join([line async for line in tables(connection, campaign)]), flush=True)
    finally:
        await database.dispose()


async def tables(connection: AsyncConnection, campaign: int) -> Any:
    """The lines of all tables of a campaign."""
    yield f"# {(await rows(connection, _TITLE, campaign))[0]['title']}\n"
    (missing,) = await rows(connection, _MISSING, campaign)
    if missing["functions"]:
        yield f"Incomplete: {missing['functions']:,} functions lack outcomes of {missing['cases']:,} cases.\n"
    yield "| rule | functions | pass every case | pass some | pass none |\n| --- | --- | --- | --- | --- |"
    for rule in RULES:
        (counts,) = await rows(connection, _RATES, campaign, rule=rule.name)
        yield rate_line(rule.label, counts)
    yield "\n| input | cases that fail | dtype | cases that fail |\n| --- | --- | --- | --- |"
    inputs = [(kind, await share(connection, campaign, kind)) for kind in INPUTS]
    types = [(name, await share(connection, campaign, tag)) for name, tag in TYPES.items()]
    for line in side_by_side(inputs, types):
        yield line
    yield "\n| ending | cause | cases | functions |\n| --- | --- | ---: | ---: |"
    for row in await rows(connection, _ENDINGS, campaign):
        yield f"| {row['ending']} | {row['cause']} | {row['cases']:,} | {row['functions']:,} |"
    yield "\n| falls back | cases | functions |\n| --- | ---: | ---: |"
    for row in await rows(connection, _FALLBACKS, campaign):
        yield f"| `{row['name']}` | {row['cases']:,} | {row['functions']:,} |"
    yield ""


async def share(connection: AsyncConnection, campaign: int, tag: str) -> str:
    (counts,) = await rows(connection, _CASES, campaign, tag=json.dumps([tag]))
    if not counts["total"]:
        return "none tried"
    return f"{counts['failed']:,} of {counts['total']:,} ({100 * counts['failed'] / counts['total']:.1f} %)"


async def rows(connection: AsyncConnection, query: Any, campaign: int, **values: str) -> list[dict[str, Any]]:
    result = await connection.execute(query, {"campaign": campaign, **values})
    return [dict(row._mapping) for row in result]


def rate_line(label: str, counts: dict[str, int]) -> str:
    rate = Rate(counts["success"], counts["total"])
    if rate.share is None or rate.interval is None:
        return f"| {label} | 0 | | | |"
    low, high = rate.interval
    percent = f"{100 * rate.share:.0f} %, {100 * low:.0f} to {100 * high:.0f}"
    return f"| {label} | {rate.n:,} | {rate.count:,} ({percent}) | {counts['partial']:,} | {counts['complete']:,} |"


def side_by_side(left: Sequence[tuple[str, str]], right: Sequence[tuple[str, str]]) -> Iterator[str]:
    for place in range(max(len(left), len(right))):
        cells = [pair[place] if place < len(pair) else ("", "") for pair in (left, right)]
        yield "| " + " | ".join(value for cell in cells for value in cell) + " |"


def main(arguments: Sequence[str]) -> int:
    bundles = [Path(argument) for argument in arguments]
    missing = [str(path) for path in bundles if not path.is_file()]
    if not bundles or missing:
        print(f"no bundle: {', '.join(missing)}" if missing else __doc__, file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="portolan-survey-") as folder:
        Path(folder).chmod(0o711)
        with EmbeddedPostgres(Path(folder) / "postgres") as dsn:
            asyncio.run(survey(dsn, bundles))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
