"""Parameters of requests, each kind once: within what the database holds, for REST and pages alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Path, Query
from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

LARGEST_INTEGER = 2**31 - 1
LARGEST_BIGINT = 2**63 - 1
LONGEST_NAME = 500


@dataclass(frozen=True)
class Storable:
    """Marks a text that is stored or looked for: PostgreSQL's holds every character but NUL."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(_without_nul, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {**handler(schema), "pattern": r"^[^\x00]*$"}


def _without_nul(text: str) -> str:
    if "\0" in text:
        raise ValueError("must not hold a NUL character")
    return text


CampaignId = Annotated[int, Path(ge=1, le=LARGEST_INTEGER)]
RunnerId = Annotated[int, Path(ge=1, le=LARGEST_INTEGER)]
JobId = Annotated[int, Path(ge=1, le=LARGEST_BIGINT)]
PathName = Annotated[str, Storable(), Path(max_length=LONGEST_NAME)]
"""A framework, function, table or figure."""

CampaignNumber = Annotated[int | None, Query(ge=1, le=LARGEST_INTEGER)]
Text = Annotated[str, Storable()]
"""Of a query or a body; where it stands says how long it may be."""
