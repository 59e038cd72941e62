"""The options of a campaign's tables, figures and report, as query parameters."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated
from urllib.parse import urlencode

from fastapi import Query

from coordinator.http.storable import Text
from coordinator.reports.latencies import INTOLERABLE
from coordinator.results.report_data import MEASURES

MOST_TOLERABLE = 1e12
SUITES_OWN = ""
"""The value that stands for the reference of the campaign's suite, if the suite has one."""
NO_REFERENCE = "none"


@dataclass(frozen=True)
class ReportOptions:
    """The options of a report. An empty option counts as omitted, because a form also sends its empty fields."""

    reference: Annotated[
        Text,
        Query(
            max_length=100,
            description="published results for comparison; default: the reference of the campaign's suite, if it has "
            "one. `none`: no comparison",
        ),
    ] = SUITES_OWN
    reference_device: Annotated[
        Text | None,
        Query(
            max_length=100,
            description="the device that all other devices are compared with; default: a GPU if the campaign has one, "
            "otherwise the CPU",
        ),
    ] = None
    tolerable: Annotated[
        float,
        Query(
            le=MOST_TOLERABLE,
            json_schema_extra={"exclusiveMinimum": 1},
            description="a latency is intolerable if it exceeds the reference by this factor",
        ),
    ] = INTOLERABLE
    measure: Annotated[
        str | None,
        Query(
            max_length=20,
            json_schema_extra={"enum": [*MEASURES, "", None]},
            description="which latency is compared; default: the one that the campaign measured",
        ),
    ] = None

    @property
    def query(self) -> str:
        """The options as a query string, without those that have default values."""
        values = asdict(self) | {"tolerable": "" if self.tolerable == INTOLERABLE else f"{self.tolerable:g}"}
        return urlencode({name: value for name, value in values.items() if value})
