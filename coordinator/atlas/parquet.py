"""Published data as parquet: one row for each cell of the JSON document. Columns have the names of its members."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from coordinator.atlas.portability import Portability

_CHART = pa.struct(
    [
        ("suite", pa.string()),
        ("revision", pa.string()),
        ("at", pa.timestamp("us", tz="UTC")),
        ("campaign", pa.int64()),
        ("signed_by", pa.string()),
        ("unsigned", pa.bool_()),
    ]
)
_OPERATION = pa.struct([("operation", pa.string()), ("met", pa.string()), ("cases", pa.int64())])
_COUNTS = ("cases", "failed", "wrong", "fell_back", "unproven", "host_work", "accepted", "independent")
_COLUMNS = pa.schema(
    [
        ("framework", pa.string()),
        ("function", pa.string()),
        ("uses", pa.int64()),
        *((name, pa.string()) for name in ("target", "version", "device", "hardware")),
        ("simulated", pa.bool_()),
        ("notes", pa.list_(pa.string())),
        ("mark", pa.string()),
        *((name, pa.int64()) for name in _COUNTS),
        ("conditions", pa.list_(pa.string())),
        ("dtypes", pa.list_(pa.string())),
        ("charts", pa.list_(_CHART)),
        *((name, pa.string()) for name in ("since", "since_after", "until", "until_before")),
        ("disagreements", pa.list_(pa.struct([("chart", _CHART), ("cases", pa.int64())]))),
        *((name, pa.float64()) for name in ("second_shape_ms", "first_call_ms")),
        ("operations", pa.list_(_OPERATION)),
    ]
)


def to_parquet(document: Portability) -> bytes:
    """The content of the parquet file. Its metadata have the version of the format as ``portability_version``.

    The column ``version`` is the framework's version. Where the JSON document has the index of a chart, a row has the
    chart itself.
    """
    columns = _COLUMNS.with_metadata({"portability_version": document.version})
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(list(_rows(document)), schema=columns), sink)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def _rows(document: Portability) -> Iterator[dict[str, Any]]:
    targets = [target.model_dump() for target in document.targets]
    for name, function in document.functions.items():
        for cell in function.cells:
            target = targets[cell.target]
            charts = target["charts"]
            yield {
                **target,
                **cell.model_dump(exclude={"target"}),
                "framework": document.framework,
                "function": name,
                "uses": function.uses,
                "mark": str(cell.mark),
                "charts": [charts[chart] for chart in cell.charts],
                "disagreements": [{"chart": charts[one.chart], "cases": one.cases} for one in cell.disagreements],
            }
