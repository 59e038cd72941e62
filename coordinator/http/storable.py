"""Numbers and texts that the database can store, for the REST models of both sides. No web framework is needed."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

LARGEST_INTEGER = 2**31 - 1
LARGEST_BIGINT = 2**63 - 1
LONGEST_NAME = 500


def _without_nul(text: str) -> str:
    if "\0" in text:
        raise ValueError("must not hold a NUL character")
    return text


STORABLE = AfterValidator(_without_nul)
STORABLE_SCHEMA = Field(json_schema_extra={"pattern": r"^[^\x00]*$"})
Text = Annotated[str, STORABLE, STORABLE_SCHEMA]
"""A text that is stored or searched. PostgreSQL's text stores every character except NUL. Each use sets its own maximum
length."""
