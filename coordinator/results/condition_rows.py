"""The conditions of a campaign's functions, computed from stored cases, for REST, pages and files."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel
from sqlalchemy import Row, text
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from coordinator.campaigns import service as campaigns
from coordinator.figures.formats import join_words
from coordinator.results.conditions import Condition, EndedCase, FunctionCondition, function_condition
from coordinator.results.known_names import check_filters
from coordinator.results.query import like_pattern
from coordinator.targets import store as targets
from coordinator.targets.models import labels
from coordinator.text.csv_text import csv_text
from protocol.catalogue import CallOptions, CaseOptions
from protocol.enums import REFUSES, Cause, Judge


class ConditionDetail(BaseModel):
    """The options with which cases fail or fall back, and the numbers of these cases."""

    aspect: str | None
    """The part of a call that the options belong to: dtype, positional (a number of arguments), keyword, value, without
    (a keyword), inputs or kind. Null if every case fails, because then no option distinguishes failing cases."""
    options: list[str]
    failing: int
    """The number of cases with the options that fail (or fall back)."""
    of: int
    others_failing: int
    others: int
    words: str

    @classmethod
    def of_condition(cls, condition: Condition | None) -> ConditionDetail | None:
        if condition is None:
            return None
        return cls(
            aspect=condition.aspect,
            options=list(condition.options),
            failing=condition.failing,
            of=condition.of,
            others_failing=condition.others_failing,
            others=condition.others,
            words=str(condition),
        )


class TargetCondition(BaseModel):
    """The condition of a function on a target: how many cases fail, with which options, and which reference judged the
    cases."""

    framework: str
    function: str
    target_id: int
    target: str
    total: int
    """The number of cases that passed or failed."""
    failed: int
    fell_back: int
    """Cases that passed by falling back to the host."""
    accepted: int
    """Cases that returned a result where the host raises an error. ``total`` does not include them."""
    independent: int
    """Cases that an independent reference judged."""
    judged: int
    """Cases for which the suite names the reference. If no reference is independent, the same framework judged all of
    these cases."""
    dtypes: list[str]
    """The dtypes of the arrays of all cases."""
    fails: ConditionDetail | None
    """Null if no case fails, or if no option separates the failing cases from the others."""
    falls_back: ConditionDetail | None
    sentences: list[str]


class CampaignConditions(BaseModel):
    """The conditions of the functions with a case that fails or falls back, by target."""

    campaign_id: int
    found: int
    """The number of all functions that match. The rows are one page of them."""
    offset: int
    rows: list[TargetCondition]


FunctionName = tuple[str, str]
"""A framework and a function."""

_FUNCTIONS = text("""
SELECT DISTINCT s.framework COLLATE "C" AS framework, c.function COLLATE "C" AS function
  FROM outcomes o JOIN cases c ON c.id = o.case_id JOIN suites s ON s.id = c.suite_id
 WHERE o.campaign_id = :campaign AND (o.verdict = 'failed' OR o.verdict = 'passed' AND o.placement = 'fell_back')
   AND c.function LIKE :function
 ORDER BY 1, 2
""")

# Outcomes have no index of cases, so they are found through jobs. Refusals that pass are excluded.
# ``end`` must equal ``conditions.end_of_runs`` of the same outcomes.
_CASES = text(f"""
SELECT o.target_id, s.framework, c.function, c.id AS case_id, c.options, c.tags, c.judged_by,
       CASE WHEN bool_or(o.verdict = 'failed' AND o.cause IS DISTINCT FROM '{Cause.silently_accepted}') THEN 'failed'
            WHEN bool_or(o.verdict = 'failed') THEN 'accepted'
            WHEN bool_or(o.placement = 'fell_back') THEN 'fell_back'
            WHEN c.host_only IS NOT NULL OR bool_and(o.placement = 'on_device') THEN 'passed'
            ELSE 'unproven' END AS "end"
  FROM unnest(CAST(:frameworks AS text[]), CAST(:functions AS text[])) u (framework, function)
  JOIN suites s ON s.framework = u.framework
  JOIN campaign_targets ct ON ct.campaign_id = :campaign AND ct.suite_id = s.id
                          AND (CAST(:targets AS int[]) IS NULL OR ct.target_id = ANY(:targets))
  JOIN cases c ON c.suite_id = s.id AND c.function = u.function
  JOIN jobs j ON j.campaign_id = ct.campaign_id AND j.target_id = ct.target_id AND j.case_id = c.id
  JOIN outcomes o ON o.job_id = j.id
 WHERE o.verdict IN ('passed', 'failed')
 GROUP BY o.target_id, s.framework, c.id
HAVING bool_or(o.verdict = 'failed') OR NOT c.tags @> '["{REFUSES}"]'
 ORDER BY s.framework COLLATE "C", c.function COLLATE "C", o.target_id, c.position, c.id
""")


async def of_functions(
    connection: AsyncConnection,
    campaign_id: int,
    functions: Sequence[FunctionName],
    target_ids: Sequence[int] | None = None,
) -> dict[tuple[str, str, int], FunctionCondition]:
    """The conditions, keyed by framework, function and target, and sorted. ``target_ids`` limits the targets. A
    function without a counted case is not included."""
    rows = await connection.execute(
        _CASES,
        {
            "campaign": campaign_id,
            "frameworks": [framework for framework, _ in functions],
            "functions": [function for _, function in functions],
            "targets": target_ids,
        },
    )
    return await asyncio.to_thread(_worked_out, rows.all())


async def of_campaign(
    engine: AsyncEngine,
    campaign_id: int,
    function: str = "*",
    device: str | None = None,
    offset: int = 0,
    limit: int | None = None,
) -> CampaignConditions:
    """A page of the conditions of functions that match a glob and have a case that fails or falls back. ``device``
    limits the targets."""
    await campaigns.detail(engine, campaign_id)
    async with engine.connect() as connection:
        await check_filters(connection, campaign_id, function=function, device=device)
        campaign_targets = await targets.of_campaign(connection, campaign_id)
        values = {"campaign": campaign_id, "function": like_pattern(function)}
        names = [(row.framework, row.function) for row in await connection.execute(_FUNCTIONS, values)]
        selected_names = names[offset:] if limit is None else names[offset : offset + limit]
        target_ids = [target.id for target in campaign_targets if device in (None, target.device)]
        conditions = await of_functions(connection, campaign_id, selected_names, target_ids)
    target_labels = labels(campaign_targets)
    rows = [row(key, condition, target_labels) for key, condition in conditions.items()]
    return CampaignConditions(campaign_id=campaign_id, found=len(names), offset=offset, rows=rows)


def as_csv(conditions: CampaignConditions) -> str:
    """The conditions as CSV with a header: one row per function and target, with the conditions in words."""
    names = [name for name in TargetCondition.model_fields if name not in ("target_id", "sentences")]
    values = [[_in_words(getattr(row, name)) for name in names] for row in conditions.rows]
    return csv_text([names, *values])


def _in_words(value: Any) -> Any:
    return value.words if isinstance(value, ConditionDetail) else value


def row(key: tuple[str, str, int], condition: FunctionCondition, target_labels: Mapping[int, str]) -> TargetCondition:
    framework, function, target_id = key
    return TargetCondition(
        framework=framework,
        function=function,
        target_id=target_id,
        target=target_labels[target_id],
        total=condition.total,
        failed=condition.failed,
        fell_back=condition.fell_back,
        accepted=condition.accepted,
        independent=condition.independent,
        judged=condition.judged,
        dtypes=list(condition.dtypes),
        fails=ConditionDetail.of_condition(condition.fails),
        falls_back=ConditionDetail.of_condition(condition.falls_back),
        sentences=[*condition.sentences, condition.dtypes_tried],
    )


def option_words(options: Mapping[str, Any]) -> str:
    """A case's options in words, call by call: ``float16 and int64; 2 positional, axis=-1``."""
    calls = options.get("calls") or []
    call_texts = [", ".join([f"{call['positional']} positional", *map(_argument, _arguments(call))]) for call in calls]
    return "; ".join(filter(None, [join_words(options.get("dtypes", [])), *dict.fromkeys(call_texts)]))


def _arguments(call: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The arguments of a call whose values are known, by number or by keyword."""
    yield from ((f"argument {number}", value) for number, value in call.get("arguments", {}).items())
    yield from call.get("keywords", {}).items()


def _argument(item: tuple[str, Any]) -> str:
    name, value = item
    if not isinstance(value, dict):
        return f"{name}={json.dumps(value)}"
    if "array" in value:
        return f"{name}={value['array']}{value['shape']}"
    return f"{name}={next(iter(value.values()))}"


def _worked_out(rows: Sequence[Row[Any]]) -> dict[tuple[str, str, int], FunctionCondition]:
    cases: dict[tuple[str, str, int], list[EndedCase]] = {}
    # A case has the same options on every target.
    options_by_case = {case.case_id: case.options for case in rows}
    options = {
        case_id: None if of_case is None else stored_options(of_case) for case_id, of_case in options_by_case.items()
    }
    for case in rows:
        cases.setdefault((case.framework, case.function, case.target_id), []).append(
            EndedCase(
                end=case.end,
                options=options[case.case_id],
                tags=frozenset(case.tags),
                judged_by=None if case.judged_by is None else Judge(case.judged_by),
            )
        )
    return {key: function_condition(of_function) for key, of_function in cases.items()}


def stored_options(values: Mapping[str, Any]) -> CaseOptions:
    """Build a model from stored options without validation, because they were validated on arrival and an earlier
    release may have had wider limits.
    """
    calls = values.get("calls")
    read = None if calls is None else [CallOptions.model_construct(**call) for call in calls]
    return CaseOptions.model_construct(**{**values, "calls": read})
