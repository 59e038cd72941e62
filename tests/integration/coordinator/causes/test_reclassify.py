"""The current rules are applied to stored outcomes. Only outcomes that the rules now judge differently change, and they
are counted."""

from __future__ import annotations

from sqlalchemy import text

from coordinator.causes.rules import classify
from coordinator.causes.service import reclassify
from protocol.enums import Ending, Verdict
from protocol.outcomes import Evidence, Outcome
from tests.integration.coordinator.dispatch.conftest import SeededDatabase
from tests.integration.coordinator.dispatch.test_queue import finish

RAISED = Outcome(
    verdict=Verdict.failed,
    ending=Ending.raised,
    duration_s=0.1,
    evidence=Evidence(exception="builtins.NotImplementedError", message="there is no such kernel"),
)


async def test_only_outcomes_that_the_rules_judge_otherwise_change(place: SeededDatabase) -> None:
    campaign = await place.campaign(cases=4)
    jobs = await place.claim()
    await finish(place, [job.key for job in jobs[:3]], RAISED)
    await finish(place, [jobs[3].key])
    async with place.owner.begin() as connection:
        await connection.execute(
            text("UPDATE outcomes SET cause = 'assertion', rule = 'of-yesterday' WHERE job_id = :job"),
            {"job": jobs[0].key.job},
        )
    result = await reclassify(place.engine, campaign)
    assert (result.looked_at, result.changed) == (3, 1)
    classification = classify(RAISED, framework="torch", device="cpu")
    (change,) = result.changes
    assert (change.was, change.was_rule) == ("assertion", "of-yesterday")
    assert (change.now, change.now_rule, change.outcomes) == (classification.cause, classification.rule, 1)
    async with place.engine.connect() as connection:
        rows = (await connection.execute(text("SELECT cause, rule FROM outcomes ORDER BY job_id"))).all()
    assert [tuple(row) for row in rows] == [*[(classification.cause, classification.rule)] * 3, (None, None)]
    assert (await reclassify(place.engine, None)).changed == 0
