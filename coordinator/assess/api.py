"""HTTP routes: one sends the evidence, for ``portolan assess`` and for evidence files, and one assesses a script."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from fastapi import Query, Response
from pydantic import BaseModel, Field

from coordinator.access.caller import CurrentCaller
from coordinator.assess import evidence_file, service
from coordinator.assess.formats.as_json import json_of
from coordinator.assess.script import Script
from coordinator.http.context import Context
from coordinator.http.routers import RestRouter
from coordinator.http.storable import Text
from coordinator.targets.selectors import Selector

router = RestRouter(tags=["assessment"])


@router.get(
    "/evidence",
    response_class=Response,
    responses={200: {"content": {"application/json": {"schema": {"type": "object"}}}}},
)
async def evidence(
    context: Context,
    target: Annotated[Text, Query(max_length=100, description="a selector, such as `torch/xla` or `*/*`")] = "*/*",
    with_cpu: Annotated[bool, Query(description="also the CPU, with which the other targets are compared")] = False,
) -> Response:
    """Return the newest outcome of each case on each target, from all campaigns."""
    targets = await service.evidence(context.engine, Selector.parse(target), with_cpu=with_cpu)
    return Response(evidence_file.document_of(targets, datetime.now(UTC)), media_type="application/json")


MOST_CHARACTERS = 1 << 20
"""The maximum length of a script in characters. It is as large as the default limit on a request in bytes."""


class AssessmentRequest(BaseModel):
    """A script to assess. The coordinator reads the script, and neither runs nor stores it."""

    source: str = Field(max_length=MOST_CHARACTERS, description="The script's text, or the JSON of a notebook's file.")
    name: Text = Field(
        "script.py", max_length=200, description="The name of the script's file, which ends in `.py` or `.ipynb`."
    )
    target: Text = Field("*/*", max_length=100, description="A selector, such as `torch/xla` or `*/*`.")


@router.post(
    "/assessments",
    response_class=Response,
    responses={200: {"content": {"application/json": {"schema": {"type": "array", "items": {"type": "object"}}}}}},
)
async def assess(context: Context, caller: CurrentCaller, request: AssessmentRequest) -> Response:
    """Assess a script on each matching target. The answer has one document per target, in the format of `portolan
    assess --format json`."""
    script = Script(request.name, request.source.encode())
    async with context.assessments.hold(caller.name):
        result = await service.assess_script(context.engine, script, Selector.parse(request.target))
    return Response(b"[" + b",".join(map(json_of, result.reports)) + b"]", media_type="application/json")
