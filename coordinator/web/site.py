"""The site: every page's routes and the static files, put onto the application."""

from __future__ import annotations

from fastapi import APIRouter, FastAPI
from fastapi.responses import RedirectResponse
from fastapi.staticfiles import StaticFiles

from coordinator.web import campaigns, figures, report
from coordinator.web.pages import STATIC


def install(app: FastAPI) -> None:
    site = APIRouter(include_in_schema=False)
    for module in (campaigns, figures, report):
        site.include_router(module.router)

    @site.get("/")
    async def front() -> RedirectResponse:
        return RedirectResponse("/campaigns")

    app.include_router(site)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
