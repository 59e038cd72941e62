"""The parts that all pages share: templates, the data of a page as JSON and csv, and problems as pages."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from fastapi import Request, Response
from fastapi.encoders import jsonable_encoder
from fastapi.responses import HTMLResponse, JSONResponse, StreamingResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

from coordinator.access.caller import caller_of
from coordinator.atlas.pages import install
from coordinator.figures import formats
from coordinator.figures.level import UNCONFIRMED
from coordinator.process.logs import get_logger
from coordinator.reports.table_renderer import cell_text
from coordinator.text.csv_text import csv_text
from coordinator.text.page_text import finalize
from coordinator.web import filters
from coordinator.web.forms import form_token, keep_cookie
from protocol.enums import is_lowered
from protocol.problems import Problem

log = get_logger(__name__)

HERE = Path(__file__).parent
STATIC = HERE / "static"

templates = Environment(
    # Reports use the same tables as pages, published sites the same page bodies, and assessments the same findings.
    loader=FileSystemLoader(
        [HERE / "templates", *(HERE.parent / folder / "templates" for folder in ("reports", "atlas", "assess"))]
    ),
    autoescape=select_autoescape(default=True),
    undefined=StrictUndefined,
    finalize=finalize,
    trim_blocks=True,
    lstrip_blocks=True,
)
templates.filters |= {
    "duration": filters.duration,
    "number": formats.number,
    "level": filters.level,
    "milliseconds": filters.milliseconds,
    "moment": filters.moment,
    "ratio": formats.ratio,
    "cell_text": cell_text,
    "pretty": filters.pretty,
    "unproven": filters.unproven,
    "verdict_words": formats.verdict_words,
}


def function_address(campaign_id: int, framework: str, function: str) -> str:
    return f"/campaigns/{campaign_id}/functions/{quote(framework)}/{quote(function)}"


def is_timed(times: Any) -> bool:
    """Whether a case or cell has a time of a call."""
    return any(getattr(times, name) is not None for name in _TIMES)


_TIMES = ("first_cold_ms", "later_cold_ms", "low_ms", "steady_ms")
templates.tests |= {"lowered": is_lowered, "timed": is_timed}
templates.globals |= {"form_token": form_token, "function_address": function_address, "unconfirmed": UNCONFIRMED}
install(templates)
_streaming = templates.overlay(enable_async=True)
PIECE = 500
"""The number of template fragments that are sent together."""
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
    """The page as HTML. With ``?as=json``, its ``data``. With ``?as=csv``, its ``rows`` if it has any.

    The template gets ``data``, the values in ``more`` that only HTML needs, and ``link``. ``link`` returns the current
    address with another query.
    """
    form = request.query_params.get("as")
    if form == "json":
        return JSONResponse(jsonable_encoder(data), status)
    if form == "csv" and rows is not None:
        # All rows have the same names.
        text = csv_text([[*row] for row in rows[:1]] + [[*row.values()] for row in rows])
        return Response(text, status, media_type="text/csv")
    values = {**_values(request, data), "has_csv": rows is not None}
    response = HTMLResponse(templates.get_template(template).render(values, **more), status)
    keep_cookie(request, response)
    return response


def stream_page(
    request: Request, template: str, data: Any, *, headers: Mapping[str, str] | None = None, **more: Any
) -> Response:
    """A page that is sent while it is rendered. If the template calls a coroutine function, it is awaited at this
    point.

    The response sets no cookie, so a page with a form that changes something must use ``page``.
    """
    values = _values(request, data)
    body = _streaming.get_template(template).generate_async(values, **more)
    return StreamingResponse(_in_pieces(body), 200, headers, "text/html")


def _values(request: Request, data: Any) -> dict[str, Any]:
    return {
        "request": request,
        "caller": caller_of(request),
        "data": data,
        "has_csv": False,
        "link": _link(request),
    }


async def _in_pieces(body: AsyncIterator[str]) -> AsyncIterator[str]:
    """Combine fragments into large pieces. If the next fragment is not ready soon, send the fragments so far as one
    piece, however small."""
    waiting: list[str] = []
    step = asyncio.ensure_future(anext(body, None))
    try:
        while True:
            ready, _ = await asyncio.wait([step], timeout=SOON_S if waiting else None)
            text = step.result() if ready else None
            if text is not None:
                waiting.append(text)
                step = asyncio.ensure_future(anext(body, None))
            if waiting and (not ready or text is None or len(waiting) >= PIECE):
                yield "".join(waiting)
                waiting = []
            if ready and text is None:
                return
    except Exception:
        # The status was sent with the first piece, so the page itself must report the error.
        log.exception("a page could not be finished")
        yield f'{"".join(waiting)}<p class="error">This page could not be finished: load it again in a moment.</p>'
    finally:
        step.cancel()


def problem_page(request: Request, problem: Problem) -> Response | None:
    """The problem as a page for a browser; None for API clients, which get JSON."""
    if request.url.path.startswith("/api/") or "text/html" not in request.headers.get("accept", ""):
        return None
    return page(request, "problem.html", problem, status=problem.status or 500)


def _link(request: Request) -> Any:
    def link(**changed: Any) -> str:
        query = dict(request.query_params) | changed
        parameters = {name: value for name, value in query.items() if value not in (None, "")}
        return f"{request.url.path}?{urlencode(parameters)}" if parameters else request.url.path

    return link
