"""A person can set the cause of an outcome that did not pass, in a finished campaign. This cause replaces the rules'
cause until it is removed."""

from __future__ import annotations

import pytest
from sqlalchemy import text

from coordinator.causes.models import OverrideRequest
from coordinator.causes.service import override, override_outcome, overrides, reclassify, undo, undo_outcome
from coordinator.errors import ConflictError, NotFoundError, UnknownNameError
from protocol.enums import Cause
from tests.integration.coordinator.causes.test_reclassify import RAISED
from tests.integration.coordinator.dispatch.conftest import SeededDatabase
from tests.integration.coordinator.dispatch.test_queue import finish

TARGET = "torch/cpu"


async def ended_campaign(place: SeededDatabase) -> tuple[int, int, int]:
    """The campaign, the failed job of case 0, and the passed job of case 1."""
    campaign = await place.campaign(cases=2)
    failing_job, passing_job = await place.claim()
    await finish(place, [failing_job.key], RAISED)
    await finish(place, [passing_job.key])
    return campaign, failing_job.key.job, passing_job.key.job


async def read_verdict(place: SeededDatabase, job: int) -> tuple[str, str, str]:
    statement = text("SELECT verdict, cause, rule FROM outcomes WHERE job_id = :job")
    async with place.engine.connect() as connection:
        row = (await connection.execute(statement, {"job": job})).one()
    return row.verdict, row.cause, row.rule


async def test_a_cause_that_a_person_names_stays_until_it_is_taken_back(place: SeededDatabase) -> None:
    campaign, job, _ = await ended_campaign(place)
    by_rule = await read_verdict(place, job)
    await override_outcome(place.engine, campaign, job, Cause.environment, "ada", "no network there")
    assert (await read_verdict(place, job))[:2] == ("incomplete", "environment")
    result = await reclassify(place.engine, campaign)
    assert (result.looked_at, result.overridden, result.changed) == (1, 1, 0)
    (one,) = await overrides(place.engine, campaign)
    assert (one.by, one.cause, one.outcomes) == ("ada", Cause.environment, 1)
    await undo_outcome(place.engine, campaign, job)
    assert await read_verdict(place, job) == by_rule
    assert await overrides(place.engine, campaign) == []
    with pytest.raises(NotFoundError, match="is not overridden"):
        await undo_outcome(place.engine, campaign, job)


async def test_a_cause_is_named_by_case_and_target_too(place: SeededDatabase) -> None:
    campaign, job, _ = await ended_campaign(place)
    by_rule = await read_verdict(place, job)
    request = OverrideRequest(case="torch.cat/0", target=TARGET, cause=Cause.environment, why="no network there")
    assert (await override(place.engine, campaign, request, "ada")).case == "torch.cat/0"
    await undo(place.engine, campaign, "torch.cat/0", TARGET)
    assert await read_verdict(place, job) == by_rule
    with pytest.raises(UnknownNameError, match="matches 0 targets"):
        await override(place.engine, campaign, request.model_copy(update={"target": "torch/xla"}), "ada")
    with pytest.raises(NotFoundError, match="no failed, skipped or incomplete outcome"):
        await override(place.engine, campaign, request.model_copy(update={"case": "torch.cat/1"}), "ada")


async def test_what_passed_or_is_not_there_has_no_cause_to_name(place: SeededDatabase) -> None:
    campaign, _, job = await ended_campaign(place)
    with pytest.raises(ConflictError, match="passed"):
        await override_outcome(place.engine, campaign, job, Cause.environment, "ada", "why")
    with pytest.raises(NotFoundError, match="no outcome of a job"):
        await override_outcome(place.engine, campaign, job + 1, Cause.environment, "ada", "why")


async def test_a_campaign_that_runs_is_not_judged_yet(place: SeededDatabase) -> None:
    campaign = await place.campaign(cases=2)
    (job,) = await place.claim(1)
    await finish(place, [job.key], RAISED)
    with pytest.raises(ConflictError, match="still running"):
        await override_outcome(place.engine, campaign, job.key.job, Cause.environment, "ada", "why")
