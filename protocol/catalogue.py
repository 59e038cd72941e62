"""What a runner can execute: ``GET /v1/catalogue``."""

from pydantic import Field

from protocol.model import Message

CONFORMANCE_SUITE = "conformance"
"""The name that our runners give to what ``portolan runner check`` needs; its cases bear a ``ConformanceTag``."""


class CatalogueCase(Message):
    """One test of one function. ``id`` is unique within its suite and stable over revisions."""

    id: str
    function: str
    host_only: str | None = None
    """Why the function never touches a device, or null if it should."""
    tags: list[str] = Field(default_factory=list)


class CatalogueSuite(Message):
    """A named set of cases. ``revision`` changes whenever a case of this framework changes."""

    name: str
    revision: str
    cases: list[CatalogueCase]


class Catalogue(Message):
    suites: list[CatalogueSuite]
