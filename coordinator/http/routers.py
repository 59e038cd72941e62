"""Routers of REST and of pages. Each knows by the beginning of an address that it is the other's: a request is compared
with the routes of one side only, which is a tenth of what a small page costs."""

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
    """Routes elsewhere."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        return NOT_HERE if scope["path"].startswith(API) else super().matches(scope)
