"""The site: every page's routes and the static files, put onto the application."""

from __future__ import annotations

from fastapi import APIRouter, FastAPI
from fastapi.responses import RedirectResponse
from fastapi.staticfiles import StaticFiles

from coordinator.web import (
    campaigns,
    comparison,
    figures,
    functions,
    history,
    matrix,
    outcomes,
    registration,
    report,
    rest,
    runners,
    submission,
)
from coordinator.web.pages import STATIC


def install(app: FastAPI) -> None:
    site = APIRouter(include_in_schema=False)
    # What is called new is no campaign's or runner's id: those with words before those with numbers.
    for module in (
        submission,
        registration,
        campaigns,
        figures,
        report,
        matrix,
        functions,
        outcomes,
        comparison,
        history,
        rest,
        runners,
    ):
        site.include_router(module.router)

    @site.get("/")
    async def front() -> RedirectResponse:
        return RedirectResponse("/campaigns")

    app.include_router(site)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
