"""Validation errors in Portolan's words: one of each kind that a request can cause."""

from __future__ import annotations

from typing import Annotated, Literal

import pytest
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from protocol.model import first_fault


class Request(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    runs: Annotated[int, Field(ge=1, le=100)] = 1
    seconds: Annotated[float, Field(gt=0)] = 1.0
    name: Annotated[str, Field(min_length=2, max_length=4)] = "ada"
    title: Annotated[Annotated[str, AfterValidator(str.strip)], Field(max_length=4)] = "ada"
    timing: Literal["off", "steady"] = "off"
    targets: Annotated[list[str], Field(min_length=1)] = ["torch/cpu"]
    rerun: bool = False


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ('{"runs": 101}', "runs: must be 100 or less"),
        ('{"runs": 0}', "runs: must be 1 or more"),
        ('{"runs": "many"}', "runs: must be a whole number"),
        ('{"runs": 1.5}', "runs: must be a whole number"),
        ('{"seconds": 0}', "seconds: must be over 0"),
        ('{"seconds": "long"}', "seconds: must be a number"),
        ('{"name": "a"}', "name: must have 2 characters or more"),
        ('{"name": "alice"}', "name: must have 4 characters or fewer"),
        ('{"title": "alice"}', "title: must have 4 characters or fewer"),
        ('{"name": 3}', "name: must be text"),
        ('{"timing": "fast"}', "timing: must be 'off' or 'steady'"),
        ('{"targets": []}', "targets: must have 1 entries or more"),
        ('{"targets": "torch/cpu"}', "targets: must be a list"),
        ('{"rerun": "perhaps"}', "rerun: must be true or false"),
        ('{"campaign": 3}', "campaign: is not a known field"),
        ("[]", "must be an object"),
        ("{", "no valid JSON (EOF while parsing an object at line 1 column 1)"),
    ],
)
def test_a_fault_says_what_to_write(body: str, words: str) -> None:
    with pytest.raises(ValidationError) as excinfo:
        Request.model_validate_json(body)
    assert first_fault(excinfo.value) == words
