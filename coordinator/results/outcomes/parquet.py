"""Writes one parquet file and exits. ``python -m coordinator.results.outcomes.parquet`` reads a request from stdin.

This is a separate process, so that the coordinator never loads pyarrow.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from coordinator.configuration.settings import Settings
from coordinator.database.connection import engine as make_engine
from coordinator.database.module_process import run_work
from coordinator.results.outcomes.service import pages
from coordinator.results.outcomes.store import Filters

_DOUBLE = dict.fromkeys(
    ("init_ms", "cold_ms", "steady_ms", "iqr_ms", "low_ms", "lock_wait_ms", "duration_s", "contended_share"),
    pa.float64(),
)
_WHOLE = dict.fromkeys(
    (
        "job_id",
        "campaign_id",
        "run",
        "attempt",
        "samples",
        "position",
        "exit_code",
        "log_bytes",
        "runner_id",
        "executed",
    ),
    pa.int64(),
)
_TRUTH = dict.fromkeys(("host_only", "simulated", "noisy", "contended", "refuses"), pa.bool_())
_TYPES = {
    **_DOUBLE,
    **_WHOLE,
    **_TRUTH,
    **dict.fromkeys(("finished_at", "overridden_at"), pa.timestamp("us", tz="UTC")),
}
"""The types of columns that are not text. Lists and objects are stored as JSON text."""


async def write(campaign_id: int, filters: Filters, path: str) -> None:
    """Write all rows of the campaign that match. If there are no rows, the file has no columns."""
    engine = make_engine(Settings.from_environment().database_url, pool_size=1)
    writer: pq.ParquetWriter | None = None
    try:
        async for rows in pages(engine, campaign_id, filters):
            # Types are declared, because a page whose values are all null would otherwise get another schema than the
            # first page.
            schema = pa.schema([(name, _TYPES.get(name, pa.string())) for name in rows[0]])
            table = pa.Table.from_pylist([_plain(row) for row in rows], schema=schema)
            writer = writer or pq.ParquetWriter(path, schema)
            writer.write_table(table)
        if writer is None:
            pq.write_table(pa.table({}), path)
    finally:
        if writer is not None:
            writer.close()
        await engine.dispose()


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    return {name: json.dumps(value) if isinstance(value, dict | list) else value for name, value in row.items()}


if __name__ == "__main__":
    asked = json.load(sys.stdin)
    run_work(write(asked["campaign"], Filters(**asked["filters"]), asked["path"]))
