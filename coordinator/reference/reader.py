"""The figures that come with Portolan, read from its data files."""

from __future__ import annotations

import csv
import hashlib
import tomllib
from collections.abc import Iterator
from importlib.resources import files

from coordinator.reference.models import (
    Caveat,
    PublishedCount,
    PublishedFailures,
    PublishedFunction,
    PublishedLatency,
    PublishedRate,
    PublishedSpeedup,
    PublishedTarget,
    Reference,
)

DATA = files("coordinator.reference") / "data"
NAMES = (
    "reference.toml",
    "targets.csv",
    "functions.csv",
    "latency.csv",
    "counts.csv",
    "rates.csv",
    "failure_rate_top20.csv",
    "speedups.csv",
)
MEASURED = {"gpu_t4_ms": "gpu-t4", "tpu_v3_8_ms": "tpu-v3-8"}
"""Columns of latencies, and the devices that they are of."""


def digest() -> str:
    """Of all data files: a database that holds the same need not be told again."""
    return hashlib.sha256(b"".join((DATA / name).read_bytes() for name in NAMES)).hexdigest()


def read() -> Reference:
    said = tomllib.loads((DATA / "reference.toml").read_text(encoding="utf-8"))
    functions = tuple(_functions())
    return Reference(
        name=said["name"],
        citation=said["citation"],
        targets=tuple(PublishedTarget(**row) for row in _rows("targets.csv")),
        functions=functions,
        latencies=tuple(_latencies(functions)),
        counts=tuple(
            PublishedCount(row["framework"], row["device"], *(int(row[name]) for name in _COUNTS))
            for row in _rows("counts.csv")
        ),
        rates=tuple(
            PublishedRate(
                f"table-{row['table']}", row["framework"], row["device"], *(float(row[name]) for name in _RATES)
            )
            for row in _rows("rates.csv")
        ),
        failures=tuple(_failures()),
        speedups=tuple(
            PublishedSpeedup(
                row["framework"], row["older"], row["newer"], float(row["factor"]), float(row["functions_pct"])
            )
            for row in _rows("speedups.csv")
        ),
        caveats=tuple(
            Caveat(
                tuple(each["figures"]),
                _OURS.get(each.get("framework"), each.get("framework")),
                each.get("device"),
                each["sentence"],
            )
            for each in said["caveats"]
        ),
    )


_COUNTS = ("partial", "complete", "success", "total")
_RATES = ("pass_pct", "partial_pct", "complete_pct")
_OURS = {"pytorch": "torch"}


def _rows(name: str) -> Iterator[dict[str, str]]:
    with (DATA / name).open(encoding="utf-8") as stream:
        for row in csv.DictReader(stream):
            if "framework" in row:
                row["framework"] = _OURS.get(row["framework"], row["framework"])
            yield row


def _functions() -> Iterator[PublishedFunction]:
    for row in _rows("functions.csv"):
        strata = tuple(row["stratum"].split(";"))
        yield PublishedFunction(row["framework"], row["function"], strata, int(row["paper_subtests"]))


def _latencies(functions: tuple[PublishedFunction, ...]) -> Iterator[PublishedLatency]:
    """In the order in which they were printed; then what was tested and not published."""
    published = {(row["framework"], row["function"]): row for row in _rows("latency.csv")}
    for (framework, function), row in published.items():
        for column, device in MEASURED.items():
            yield PublishedLatency(framework, function, device, float(row[column]))
    for each in functions:
        if (each.framework, each.function) not in published:
            for device in MEASURED.values():
                yield PublishedLatency(each.framework, each.function, device, None)


def _failures() -> Iterator[PublishedFailures]:
    for row in _rows("failure_rate_top20.csv"):
        for framework, column in (("tensorflow", "tensorflow_pct"), ("torch", "pytorch_pct"), ("jax", "jax_pct")):
            yield PublishedFailures(framework, row["device"], row["stratum"], float(row[column]))
