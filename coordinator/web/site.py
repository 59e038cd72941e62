"""The site: adds the routes of all pages and the static files to the application."""

from __future__ import annotations

from fastapi import Depends, FastAPI
from fastapi.staticfiles import StaticFiles

from coordinator.access.caller import needs
from coordinator.access.roles import Role
from coordinator.web import (
    access_pages,
    atlas_pages,
    campaign_pages,
    comparison_page,
    coverage_page,
    figure_pages,
    function_page,
    history_page,
    matrix_page,
    operations_page,
    outcome_pages,
    registration,
    rest,
    runner_pages,
    script_page,
    submission,
)
from coordinator.web.forms import protect
from coordinator.web.pages import STATIC

# Routes with words come before those with ids, so that /campaigns/new is not taken for a campaign.
FORMS = (submission, registration)
OF_CAMPAIGNS = (campaign_pages, figure_pages, function_page, matrix_page, operations_page, outcome_pages)
OTHERS = (access_pages, atlas_pages, comparison_page, coverage_page, history_page, rest, runner_pages, script_page)


def install(app: FastAPI) -> None:
    for module in (*FORMS, *OF_CAMPAIGNS, *OTHERS):
        app.include_router(module.router, dependencies=[needs(Role.viewer), Depends(protect)], include_in_schema=False)

    # Signing in is for callers who have no role yet.
    app.include_router(access_pages.open_router, dependencies=[Depends(protect)], include_in_schema=False)

    app.mount("/static", StaticFiles(directory=STATIC), name="static")
