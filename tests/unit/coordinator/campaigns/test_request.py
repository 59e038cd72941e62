"""Requests for campaigns that are refused before anything is planned."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from coordinator.campaigns.request import CampaignRequest


def test_a_request_without_a_timing_leaves_it_to_the_suite() -> None:
    request = CampaignRequest.model_validate({"suite": "library"})
    assert (request.timing, request.timed_cases) == (None, None)


def test_one_mistake_is_said_once() -> None:
    with pytest.raises(ValidationError) as excinfo:
        CampaignRequest.model_validate({"suite": "library", "runs": 0})
    assert [error["loc"] for error in excinfo.value.errors()] == [("runs",)]


@pytest.mark.parametrize("fields", [{"runs": 1}, {"timing": "off"}])
def test_verdicts_first_without_a_timed_run_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="ask for at least 2 runs and turn timing on"):
        CampaignRequest.model_validate({"verdicts_first": True} | fields)
