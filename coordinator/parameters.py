"""Parameters of requests, each kind once: within what the database holds, for REST and pages alike."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Query
from pydantic import StringConstraints

LARGEST_INTEGER = 2**31 - 1
LARGEST_BIGINT = 2**63 - 1
LONGEST_NAME = 500
STORABLE = r"^[^\x00]*$"
"""PostgreSQL's text holds every character but NUL."""

CampaignId = Annotated[int, Path(ge=1, le=LARGEST_INTEGER)]
RunnerId = Annotated[int, Path(ge=1, le=LARGEST_INTEGER)]
JobId = Annotated[int, Path(ge=1, le=LARGEST_BIGINT)]
PathName = Annotated[str, Path(max_length=LONGEST_NAME, pattern=STORABLE)]
"""A framework, function, table or figure."""

CampaignNumber = Annotated[int | None, Query(ge=1, le=LARGEST_INTEGER)]
Text = Annotated[str, StringConstraints(pattern=STORABLE)]
"""Of a query or a body; where it stands says how long it may be."""
