"""Every route of the application declares the least role of its callers, or is listed here with a reason."""

from __future__ import annotations

from collections.abc import Iterator

from fastapi.dependencies.models import Dependant
from fastapi.routing import iter_route_contexts

from coordinator.access.caller import role_of
from coordinator.access.middleware import OPEN, OPEN_FOLDER, READING
from coordinator.access.roles import Role
from coordinator.app import create_app
from coordinator.configuration.settings import Settings

OUTSIDE = {
    "/healthz": "whether the process lives; health checks have no token",
    "/readyz": "whether it does its work",
    "/metrics": "for Prometheus; counts and names of tasks, nothing of a campaign",
    "/openapi.json": "what the API looks like; the same everywhere",
    "/static": "style sheets and scripts; the same everywhere",
    "/login": "gives a session for a token",
    "/logout": "ends the caller's own session",
    "/api/v1/runners/enrol": "runners have secrets of their own for this",
}
OWN = {"POST /api/v1/login-links", "DELETE /api/v1/sessions", "POST /api/v1/assessments", "POST /"}
"""Requests whose method means a change, but that a viewer may send, because they concern only the caller, or store
nothing."""


def routes() -> Iterator[tuple[str, str, Role | None]]:
    for route in iter_route_contexts(create_app(Settings("postgresql://nobody@127.0.0.1:1/none")).routes):
        dependant = getattr(route, "dependant", None)
        roles = [] if dependant is None else list(_roles(dependant))
        for method in route.methods or ("GET",):
            yield method, str(route.path), max(roles, key=list(Role).index, default=None)


def _roles(dependant: Dependant) -> Iterator[Role]:
    for dependency in dependant.dependencies:
        if (role := role_of(dependency.call)) is not None:
            yield role


def test_every_route_names_a_role_or_is_outside_for_a_reason() -> None:
    route_list = list(routes())
    assert len(route_list) > 60
    assert {path for _, path, role in route_list if role is None} == set(OUTSIDE)


def test_every_change_needs_more_than_reading() -> None:
    changes = [(f"{method} {path}", role) for method, path, role in routes() if method not in READING and role]
    assert len(changes) > 15
    assert {route for route, role in changes if role is Role.viewer} == OWN


def test_runners_bundles_and_causes_need_an_operator_and_tokens_an_admin() -> None:
    role_by_route = {f"{method} {path}": role for method, path, role in routes()}
    assert role_by_route["POST /api/v1/campaigns"] is role_by_route["POST /campaigns/new"] is Role.submitter
    for change in (
        "POST /api/v1/runners",
        "DELETE /api/v1/runners/{runner_id:int}",
        "POST /api/v1/runners/{runner_id:int}/recordings",
        "POST /api/v1/bundles",
        "POST /api/v1/signers",
        "DELETE /api/v1/signers/{signer_id}",
        "DELETE /api/v1/campaigns/{campaign_id}",
        "DELETE /api/v1/suites/{suite_id}",
        "POST /api/v1/reclassify",
        "POST /api/v1/campaigns/{campaign_id}/reclassify",
        "PUT /api/v1/campaigns/{campaign_id}/overrides",
        "DELETE /api/v1/campaigns/{campaign_id}/overrides",
        "POST /runners/new",
        "POST /runners/{runner_id}/remove",
        "POST /campaigns/{campaign_id}/outcomes/{job_id}/override",
        "POST /campaigns/{campaign_id}/outcomes/{job_id}/undo",
    ):
        assert role_by_route[change] is Role.operator, change
    for path in ("tokens", "audit"):
        assert role_by_route[f"GET /api/v1/{path}"] is role_by_route[f"GET /{path}"] is Role.admin
    assert role_by_route["POST /api/v1/tokens"] is role_by_route["DELETE /api/v1/tokens/{token_id}"] is Role.admin


def test_what_the_middleware_leaves_open_is_outside_here_too() -> None:
    assert OPEN | {OPEN_FOLDER.rstrip("/")} == set(OUTSIDE)
