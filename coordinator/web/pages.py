"""What all pages share: templates, the same data as json and csv, and problems as pages."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlencode, urlsplit

from fastapi import Request, Response
from fastapi.encoders import jsonable_encoder
from fastapi.responses import HTMLResponse, JSONResponse, StreamingResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

from coordinator import formats
from coordinator.csv_text import csv_text
from coordinator.errors import ForbiddenError
from coordinator.logs import get_logger
from coordinator.reports.table_renderer import shown
from coordinator.web import filters
from protocol.problems import Problem

log = get_logger(__name__)

HERE = Path(__file__).parent
STATIC = HERE / "static"
As = Literal["html", "json", "csv"]
"""``?as=json`` and ``?as=csv`` of any page give its data."""

SECURITY = {
    # Nothing is fetched from elsewhere, and no text of a runner or a case can become a script.
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; "
    "script-src 'self' 'unsafe-eval'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
}

templates = Environment(
    # A report is made of the same tables as a page.
    loader=FileSystemLoader([HERE / "templates", HERE.parent / "reports" / "templates"]),
    autoescape=select_autoescape(default=True),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
templates.filters |= {
    "duration": filters.duration,
    "number": formats.number,
    "milliseconds": filters.milliseconds,
    "moment": filters.moment,
    "ratio": formats.ratio,
    "shown": shown,
    "pretty": filters.pretty,
}
_streaming = templates.overlay(enable_async=True)
PIECE = 500
"""Words of a template sent at once."""
SOON_S = 0.02


def page(
    request: Request,
    template: str,
    data: Any,
    *,
    rows: Sequence[Mapping[str, Any]] | None = None,
    status: int = 200,
    **more: Any,
) -> Response:
    """The page as html, or as ``?as=`` wants it: ``data`` as json, ``rows`` as csv (else 404 is the caller's).

    The template gets ``data``, ``more`` and ``link``, which makes the present address with another query.
    """
    wanted = request.query_params.get("as", "html")
    if wanted == "json":
        return JSONResponse(jsonable_encoder(data), status, headers=SECURITY)
    if wanted == "csv" and rows is not None:
        return Response(as_csv(rows), status, SECURITY, "text/csv; charset=utf-8")
    body = templates.get_template(template).render(
        request=request, data=data, has_csv=rows is not None, link=_link(request), now=datetime.now(UTC), **more
    )
    return HTMLResponse(body, status, SECURITY)


def streamed(request: Request, template: str, data: Any, **more: Any) -> Response:
    """A page that begins at once. What is called in it may be a coroutine, and is awaited where it stands."""
    body = _streaming.get_template(template).generate_async(
        request=request, data=data, has_csv=False, link=_link(request), now=datetime.now(UTC), **more
    )
    return StreamingResponse(_in_pieces(body), 200, SECURITY, "text/html; charset=utf-8")


async def _in_pieces(body: AsyncIterator[str]) -> AsyncIterator[str]:
    """Not each word by itself: large pieces, and whatever there is when the next word lets wait for itself."""
    waiting: list[str] = []
    step = asyncio.ensure_future(_next(body))
    try:
        while True:
            ready, _ = await asyncio.wait([step], timeout=SOON_S if waiting else None)
            text = step.result() if ready else None
            if text is not None:
                waiting.append(text)
                step = asyncio.ensure_future(_next(body))
            if waiting and (not ready or text is None or len(waiting) >= PIECE):
                yield "".join(waiting)
                waiting = []
            if ready and text is None:
                return
    except Exception:
        # The status is sent: what is left is to say it.
        log.exception("a page could not be finished")
        yield f'{"".join(waiting)}<p class="error">This page could not be finished: load it again in a moment.</p>'
    finally:
        step.cancel()


async def _next(body: AsyncIterator[str]) -> str | None:
    return await anext(body, None)


def problem_page(request: Request, problem: Problem) -> Response:
    return page(request, "problem.html", problem, status=problem.status or 500)


def same_site(request: Request) -> None:
    """Refuse a form that another site sent: a dependency of every route that changes something."""
    told = request.headers.get("sec-fetch-site")
    origin = request.headers.get("origin")
    foreign = told not in (None, "same-origin", "none")
    if told is None and origin is not None:
        foreign = urlsplit(origin).netloc != request.headers.get("host")
    if foreign:
        raise ForbiddenError("this form was sent by another site: open the page here and send it from there")


def wants_page(request: Request) -> bool:
    """Whether a browser asks: the API's clients get their problem as json."""
    path = request.url.path
    return not path.startswith("/api/") and "text/html" in request.headers.get("accept", "")


def as_csv(rows: Iterable[Mapping[str, Any]]) -> str:
    """The rows under the names of their values, which all rows share."""
    kept = list(rows)
    return csv_text([list(row) for row in kept[:1]] + [list(row.values()) for row in kept])


def _link(request: Request) -> Any:
    def link(**changed: Any) -> str:
        query = dict(request.query_params) | changed
        kept = {name: value for name, value in query.items() if value not in (None, "")}
        return f"{request.url.path}?{urlencode(kept)}" if kept else request.url.path

    return link
