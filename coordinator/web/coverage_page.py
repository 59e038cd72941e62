"""The page of coverage: the share of each framework's public functions that the suites of registered runners chart,
unweighted and weighted by use."""

from __future__ import annotations

from typing import Any

from fastapi import Request, Response

from coordinator.catalogue import service
from coordinator.catalogue.coverage import remark, rows_of, share_text
from coordinator.catalogue.models import Coverage, Share
from coordinator.http.context import Context
from coordinator.http.routers import PageRouter
from coordinator.web.pages import page

router = PageRouter()


@router.get("/coverage")
async def coverage(request: Request, context: Context) -> Response:
    coverage_list = await service.coverage_of_suites(context.engine)
    records = [_record(row) for release in coverage_list.releases for row in rows_of(release)]
    return page(
        request, "coverage.html", coverage_list, rows=records, rows_of=rows_of, share_text=share_text, remark=remark
    )


def _record(row: Coverage) -> dict[str, Any]:
    """A row of the csv, with the numbers of each share."""
    line: dict[str, Any] = {}
    for name, value in row:
        if name == "removed":
            line["not_in_it"] = len(value)
        elif name in ("uses", "guessed") or isinstance(value, Share):
            of = value or Share(charted=0, of=0)
            line |= {f"{name}_charted": of.charted, name: of.of}
            if name == "uses":
                line["uses_by_other_names"] = of.twins
        elif name not in ("instead_of", "corpus"):
            line[name] = value
    return line
