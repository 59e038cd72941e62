"""Parameters of requests, each kind once: within what the database holds, for REST and pages alike."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Query
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
"""A text that is stored or looked for: PostgreSQL's holds every character but NUL. Each use says how long it may be."""

CampaignId = Annotated[int, Path(ge=1, le=LARGEST_INTEGER)]
RunnerId = Annotated[int, Path(ge=1, le=LARGEST_INTEGER)]
JobId = Annotated[int, Path(ge=1, le=LARGEST_BIGINT)]
PathName = Annotated[Text, Path(max_length=LONGEST_NAME)]
"""A framework, function, table or figure."""

CampaignNumber = Annotated[int | None, Query(ge=1, le=LARGEST_INTEGER)]
