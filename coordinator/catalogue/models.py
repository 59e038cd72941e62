"""The catalogue as it goes over the wire: suites, and the functions of each."""

from __future__ import annotations

from pydantic import BaseModel


class CatalogueFunction(BaseModel):
    function: str
    cases: int
    host_only: str | None
    """Why it never touches a device, or null."""


class CatalogueSuite(BaseModel):
    suite: str
    framework: str
    revision: str
    targets: list[str]
    functions: list[CatalogueFunction]


class Catalogue(BaseModel):
    suites: list[CatalogueSuite]
