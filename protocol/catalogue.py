"""The catalogue of cases that a runner can execute: ``GET /v1/catalogue``."""

from pydantic import Field

from protocol.limits import MAX_CASES, MAX_SUITES, CaseName, Line, Lines, Name
from protocol.model import Message


class CatalogueCase(Message):
    """One test of one function. ``id`` is unique within its suite and stable over revisions."""

    id: CaseName
    function: CaseName
    host_only: Line | None = None
    """Why the function never touches a device, or null if it should."""
    tags: Lines = Field(default_factory=list)
    digest: Name | None = None
    """Changes with whatever decides the case's result, and with nothing else; equal digests in two revisions of the
    suite make the case's cells comparable. Null: only the suite's revision is known."""


class CatalogueSuite(Message):
    """A named set of cases. ``revision`` changes whenever one of its cases changes."""

    name: Name
    revision: Name
    cases: list[CatalogueCase] = Field(max_length=MAX_CASES)


class Catalogue(Message):
    suites: list[CatalogueSuite] = Field(max_length=MAX_SUITES)
