"""A parquet file has a column for every column of the view, with the view's type."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from coordinator.results.outcomes.parquet import _TYPES
from coordinator.results.outcomes.store import INTERNAL

PROMISED = Path(__file__).parents[3] / "integration" / "coordinator" / "database" / "promised_columns.txt"
ARROW = {
    "bigint": pa.int64(),
    "integer": pa.int64(),
    "smallint": pa.int64(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "timestamptz": pa.timestamp("us", tz="UTC"),
}


def test_every_column_that_is_no_text_has_its_type() -> None:
    columns = [line.split() for line in PROMISED.read_text().splitlines() if line.startswith("outcome_rows ")]
    expected_types = {name: ARROW[kind] for _, name, kind in columns if kind in ARROW and name not in INTERNAL}
    assert expected_types == _TYPES
