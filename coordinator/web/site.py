"""The site: every page's routes and the static files, put onto the application."""

from __future__ import annotations

from fastapi import APIRouter, FastAPI
from fastapi.responses import RedirectResponse
from fastapi.staticfiles import StaticFiles

from coordinator.web import (
    campaign_pages,
    comparison_page,
    figure_pages,
    function_page,
    history_page,
    matrix_page,
    outcome_pages,
    registration,
    rest,
    runner_pages,
    submission,
)
from coordinator.web.pages import STATIC

# A page that is called new has no campaign's or runner's id: addresses with words come before those with numbers.
FORMS = (submission, registration)
OF_CAMPAIGNS = (campaign_pages, figure_pages, function_page, matrix_page, outcome_pages)
OTHERS = (comparison_page, history_page, rest, runner_pages)


def install(app: FastAPI) -> None:
    site = APIRouter(include_in_schema=False)
    for module in (*FORMS, *OF_CAMPAIGNS, *OTHERS):
        site.include_router(module.router)

    @site.get("/")
    async def front() -> RedirectResponse:
        return RedirectResponse("/campaigns")

    app.include_router(site)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
