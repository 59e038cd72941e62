"""Parameter types of REST and pages, bounded by what the database can hold."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Query

from coordinator.http.storable import LARGEST_BIGINT, LARGEST_INTEGER, LONGEST_NAME, Text

CampaignId = Annotated[int, Path(ge=1, le=LARGEST_INTEGER)]
SuiteId = Annotated[int, Path(ge=1, le=LARGEST_INTEGER)]
RunnerId = Annotated[int, Path(ge=1, le=LARGEST_INTEGER)]
JobId = Annotated[int, Path(ge=1, le=LARGEST_BIGINT)]
PathName = Annotated[Text, Path(max_length=LONGEST_NAME)]
"""A framework, function, table or figure."""

CampaignNumber = Annotated[int | None, Query(ge=1, le=LARGEST_INTEGER)]
