"""Parameter types of REST and pages, limited to values that the database can store."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Query

from coordinator.http.storable import LARGEST_BIGINT, LARGEST_INTEGER, LONGEST_NAME, Text

CampaignId = Annotated[int, Path(ge=1, le=LARGEST_INTEGER)]
SuiteId = Annotated[int, Path(ge=1, le=LARGEST_INTEGER)]
RunnerId = Annotated[int, Path(ge=1, le=LARGEST_INTEGER)]
JobId = Annotated[int, Path(ge=1, le=LARGEST_BIGINT)]
PathName = Annotated[Text, Path(max_length=LONGEST_NAME)]
"""The name of a framework, function, table or figure in a path."""

CampaignNumber = Annotated[int | None, Query(ge=1, le=LARGEST_INTEGER)]
