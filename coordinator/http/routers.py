"""Routers of REST and of pages. Each router compares a request with its routes only if the path has the router's
prefix.

Comparing every request with the routes of both routers would add a tenth to the cost of a small page.
"""

from __future__ import annotations

from fastapi import APIRouter
from starlette.routing import Match
from starlette.types import Scope

API = "/api/"
NOT_HERE: tuple[Match, Scope] = (Match.NONE, {})


class RestRouter(APIRouter):
    """Routes under ``/api/``."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        return super().matches(scope) if scope["path"].startswith(API) else NOT_HERE


class PageRouter(APIRouter):
    """Routes outside of ``/api/``."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        return NOT_HERE if scope["path"].startswith(API) else super().matches(scope)
