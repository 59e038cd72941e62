"""Pages that are sent in part before their figures are computed, and their requests."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from fastapi import Request
from structlog.testing import capture_logs

from coordinator.reports.options import ReportOptions
from coordinator.web.pages import stream_page


async def page_text(contents: Any) -> str:
    """The text of a campaign's page of figures."""
    request = Request({"type": "http", "path": "/campaigns/3/figures", "query_string": b"", "headers": []})
    counters = SimpleNamespace(done=1, total=2)
    answer = stream_page(
        request,
        "figures.html",
        SimpleNamespace(id=3, name="<b>November</b>", state="running", counters=counters, by_target=[]),
        contents=contents,
        remember=None,
        options=ReportOptions(),
        reference="paper-2023",
        measures={"level": "a call after warm-up"},
        rows=10,
    )
    return "".join([piece async for piece in answer.body_iterator])  # type: ignore[misc]


async def test_what_is_awaited_in_a_page_stands_where_it_was_asked_for() -> None:
    async def nothing() -> SimpleNamespace:
        return SimpleNamespace(chapters=[])

    page = await page_text(nothing)
    assert page.rstrip().endswith("</html>")
    assert "&lt;b&gt;November&lt;/b&gt;" in page
    assert "is still running: 1 of 2 jobs are done" in page


async def test_a_page_that_cannot_be_finished_says_so() -> None:
    async def broken() -> SimpleNamespace:
        raise ConnectionError("the database went away")

    with capture_logs() as lines:
        page = await page_text(broken)
    assert "<h1>Figures and tables</h1>" in page
    assert page.endswith('<p class="error">This page could not be finished: load it again in a moment.</p>')
    assert "the database went away" not in page
    assert [(line["event"], line["exc_info"]) for line in lines] == [("a page could not be finished", True)]


@pytest.mark.parametrize(
    ("options", "query"),
    [
        (ReportOptions(), ""),
        (ReportOptions(reference="none", reference_device="xla"), "reference=none&reference_device=xla"),
        (ReportOptions(tolerable=2.5, measure="cold"), "tolerable=2.5&measure=cold"),
    ],
)
def test_links_keep_the_options_of_the_page(options: ReportOptions, query: str) -> None:
    assert options.query == query
