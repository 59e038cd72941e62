"""Reads the reference that ships with Portolan from its data files."""

from __future__ import annotations

import csv
import hashlib
import tomllib
from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Any

from coordinator.reference.models import Reference

DATA = files("coordinator.reference") / "data"
MEASURED = {"gpu_t4_ms": "gpu-t4", "tpu_v3_8_ms": "tpu-v3-8"}
"""The device of each column of latencies."""
_OURS = {"pytorch": "torch"}
Row = dict[str, Any]


def digest() -> str:
    """A digest of all data files. If the database has the same digest, they are not loaded again."""
    files = sorted((file.name, file.read_bytes()) for file in DATA.iterdir() if file.name.endswith((".csv", ".toml")))
    return hashlib.sha256(b"".join(content for _, content in files)).hexdigest()


def read() -> Reference:
    document = tomllib.loads((DATA / "reference.toml").read_text(encoding="utf-8"))
    functions = [
        {**row, "strata": row["stratum"].split(";"), "subtests": row["paper_subtests"]}
        for row in _rows("functions.csv")
    ]
    fields: dict[str, Any] = {
        **document,
        "targets": list(_rows("targets.csv")),
        "functions": functions,
        "latencies": list(_latencies(functions)),
        "counts": list(_rows("counts.csv")),
        "rates": [{**row, "figure": f"table-{row['table']}"} for row in _rows("rates.csv")],
        "failures": list(_failures()),
        "speedups": list(_rows("speedups.csv")),
        "caveats": [
            {"framework": None, "device": None, **_own_framework_name(caveat)} for caveat in document["caveats"]
        ],
    }
    return Reference(**fields)


def _rows(name: str) -> Iterator[Row]:
    with (DATA / name).open(encoding="utf-8") as stream:
        yield from map(_own_framework_name, csv.DictReader(stream))


def _own_framework_name(row: Mapping[str, Any]) -> Row:
    """The row, with Portolan's name of the framework in place of the name in the file."""
    return {name: _OURS.get(value, value) if name == "framework" else value for name, value in row.items()}


def _latencies(functions: list[Row]) -> Iterator[Row]:
    """The published latencies in their printed order, followed by the tested functions that have no published
    latency."""
    figures = list(_rows("latency.csv"))
    figure_keys = {(row["framework"], row["function"]) for row in figures}
    for row in (*figures, *(row for row in functions if (row["framework"], row["function"]) not in figure_keys)):
        for column, device in MEASURED.items():
            yield {**row, "device": device, "milliseconds": row.get(column)}


def _failures() -> Iterator[Row]:
    for row in _rows("failure_rate_top20.csv"):
        for framework, column in (("tensorflow", "tensorflow_pct"), ("torch", "pytorch_pct"), ("jax", "jax_pct")):
            yield {**row, "framework": framework, "failed_pct": row[column]}
