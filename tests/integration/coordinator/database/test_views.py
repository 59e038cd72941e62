"""Each view agrees with an independent computation in Python, over random outcomes."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

import asyncpg
import pytest

from coordinator.figures.counting import NAMES
from protocol.enums import Cause, Placement, Verdict
from runners.isolation.timing import quantile

FUNCTIONS = 9
CASES_EACH = 5
WEIGHTS = ((1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 1), (6, 3, 1, 1), (1, 0, 0, 3))
"""The weights of the verdicts of a function's outcomes, in the order of ``Verdict``."""
COUNTS = ("passed", "failed", "skipped", "incomplete", "flaky", "fell_back", "refused", "accepted")
RUNS = 3


@dataclass(frozen=True)
class Planned:
    """One stored outcome."""

    job: int
    campaign: int
    target: int
    case: int
    function: str
    host_only: bool
    run: int
    verdict: Verdict
    cause: Cause | None
    placement: Placement
    cold_ms: float | None
    steady_ms: float | None
    iqr_ms: float | None
    samples: list[float] | None
    refuses: bool
    position: int | None
    contended: bool

    @property
    def low_ms(self) -> float | None:
        return quantile(self.samples, 0.05) if self.samples else self.steady_ms

    @property
    def accepted(self) -> bool:
        return self.cause == "silently_accepted"

    @property
    def fell_back(self) -> bool:
        return self.verdict == "passed" and self.placement == "fell_back"


def draw_outcomes(draw: random.Random, campaigns: int, targets: int) -> Iterator[Planned]:
    """Draw outcomes. Their weights differ between functions, so that every verdict occurs."""
    job = 0
    for campaign in range(1, campaigns + 1):
        for target in range(1, targets + 1):
            for case in range(1, FUNCTIONS * CASES_EACH + 1):
                number = (case - 1) % FUNCTIONS
                weights = WEIGHTS[(number + target) % len(WEIGHTS)]
                for run in range(1, RUNS + 1):
                    job += 1
                    if draw.random() < 0.05:
                        continue
                    verdict = draw.choices(list(Verdict), weights)[0]
                    refuses, acceptance = case % 4 == 0, Cause.silently_accepted
                    causes = [acceptance] * 20 if refuses and verdict == "failed" else []
                    is_measured = draw.random() < 0.8
                    yield Planned(
                        job=job,
                        campaign=campaign,
                        target=target,
                        case=case,
                        function=f"torch.f{number}",
                        host_only=number == 8,
                        run=run,
                        verdict=verdict,
                        cause=draw.choice([*list(Cause)[:5], None, *causes]) if verdict != "passed" else None,
                        placement=Placement.unknown if number == 7 else draw.choices(list(Placement), (6, 2, 1, 1))[0],
                        cold_ms=draw.uniform(1, 9) if is_measured else None,
                        steady_ms=draw.uniform(0, 1) if is_measured and draw.random() < 0.8 else None,
                        iqr_ms=draw.uniform(0, 1) if is_measured else None,
                        refuses=refuses,
                        samples=[draw.uniform(0.4, 0.9) for _ in range(draw.randrange(12))] if is_measured else None,
                        position=draw.choice([0, 1, 2, None]),
                        contended=draw.random() < 0.3,
                    )


async def store(connection: asyncpg.Connection, outcomes: Iterable[Planned], campaigns: int, targets: int) -> None:
    await connection.execute(
        "insert into suites (name, framework, revision, digest) values ('paper', 'torch', 'r1', '')"
    )
    await connection.execute(
        "insert into fingerprints (id, body) values ('f', $1)", json.dumps({"host": "harbour", "threads": 2})
    )
    for campaign in range(campaigns):
        await connection.execute(
            "insert into campaigns (name, suite, selectors, functions, runs, timeout_s, timing)"
            " values ($1, 'paper', '[]', '[]', 3, 900, 'steady')",
            f"campaign {campaign + 1}",
        )
    for target in range(targets):
        await connection.execute(
            "insert into targets (framework, version, device, device_class, hardware, environment)"
            " values ('torch', '2.9.0', $1, 'other', 'toy', 'e')",
            f"device{target + 1}",
        )
    outcomes = list(outcomes)
    cases = {outcome.case: outcome for outcome in outcomes}
    await connection.copy_records_to_table(
        "cases",
        records=[
            (
                *(number, 1, f"{outcome.function}/{number}", outcome.function),
                *("why" if outcome.host_only else None, number, json.dumps(["value", *["refuses"] * outcome.refuses])),
            )
            for number, outcome in sorted(cases.items())
        ],
        columns=["id", "suite_id", "name", "function", "host_only", "position", "tags"],
    )
    await connection.copy_records_to_table(
        "jobs",
        records=[(o.job, o.campaign, o.target, o.case, o.run, 0, "done", 1) for o in outcomes],
        columns=["id", "campaign_id", "target_id", "case_id", "run", "priority", "state", "attempt"],
    )
    columns = "job_id attempt campaign_id target_id case_id run fingerprint_id verdict ending cause placement"
    columns += " cold_ms steady_ms iqr_ms samples_ms position contended duration_s evidence proof"
    await connection.copy_records_to_table(
        "outcomes",
        records=[
            (
                *(o.job, 1, o.campaign, o.target, o.case, o.run, "f", o.verdict, "returned", o.cause, o.placement),
                *(o.cold_ms, o.steady_ms, o.iqr_ms, o.samples, o.position, o.contended, 0.1),
                json.dumps({"exception": "E", "message": "m", "exit_code": 3, "signal": None}) if o.cause else None,
                json.dumps({"devices": ["xla:0"], "fallbacks": {"aten::nonzero": 2}, "executed": o.job}),
            )
            for o in outcomes
        ],
        columns=columns.split(),
    )
    await connection.execute("analyze")


def values_by_case(cases: Iterable[list[Planned]], name: str) -> list[list[float]]:
    values_of_cases = [[value for run in runs if (value := getattr(run, name)) is not None] for runs in cases]
    return [values for values in values_of_cases if values]


def middle_of(values: Iterable[float]) -> Any:
    numbers = list(values)
    return pytest.approx(median(numbers)) if numbers else None


def is_noisy(runs: list[Planned]) -> bool:
    """Whether the median of a case differs too much from its level, or all of its runs were contended."""
    medians, levels = values_by_case([runs], "steady_ms"), values_by_case([runs], "low_ms")
    return (bool(medians) and median(medians[0]) > 1.2 * min(levels[0])) or all_contended(runs)


def all_contended(runs: list[Planned]) -> bool:
    flags = [run.contended for run in runs if run.low_ms is not None]
    return bool(flags) and all(flags)


def is_unconfirmed(runs: list[Planned]) -> bool | None:
    """Whether no second run is like the best run; None if there is no second run."""
    levels = sorted(run.low_ms for run in runs if run.low_ms is not None)
    if all_contended(runs):
        return True
    return levels[1] > 1.2 * levels[0] if len(levels) > 1 else None


def half_unconfirmed(cases: list[list[Planned]]) -> bool | None:
    measured_cases = [runs for runs in cases if any(run.low_ms is not None for run in runs)]
    verdicts = [verdict for verdict in map(is_unconfirmed, measured_cases) if verdict is not None]
    return 2 * sum(verdicts) >= len(measured_cases) if verdicts else None


def most_frequent(causes: Iterable[str | None]) -> str | None:
    frequencies = Counter(cause for cause in causes if cause)
    return min(frequencies, key=lambda cause: (-frequencies[cause], cause)) if frequencies else None


def added_up(passes: int, failures: int, incomplete: int) -> str:
    """The verdict of the counts. If a case is missing, it is neither success nor complete."""
    if not failures:
        return "success" if passes and not incomplete else "unknown"
    return "partial" if passes + incomplete else "complete"


def unproven(runs: list[Planned]) -> bool:
    """Whether all cases passed and none fell back, but some have an unproven placement."""
    counted_runs = [run for run in runs if run.verdict in ("passed", "failed")]
    return all(run.verdict == "passed" and not run.fell_back for run in counted_runs) and any(
        run.placement != "on_device" for run in counted_runs
    )


def counts(cases: list[list[Planned]], *, on_device: bool) -> dict[str, Any]:
    """The counts of a function's cases, computed only from the design's definitions."""

    def fails(outcome: Planned) -> bool:
        return (outcome.verdict == "failed" and not outcome.accepted) or (on_device and outcome.fell_back)

    counter: Counter[str] = Counter()
    causes: list[str | None] = []
    others: list[str | None] = []
    for runs in cases:
        counted_runs = [run for run in runs if run.verdict in ("passed", "failed")]
        if not counted_runs:
            counter["incomplete" if any(run.verdict == "incomplete" for run in runs) else "skipped"] += 1
            if named_causes := [run.cause for run in runs if run.cause]:
                others.append(most_frequent(named_causes))
        elif not any(run.verdict == "failed" and not run.accepted for run in runs) and any(r.accepted for r in runs):
            counter["accepted"] += 1
            uncounted_runs = (run for run in runs if run.accepted or run.verdict in ("skipped", "incomplete"))
            others.append(most_frequent(run.cause for run in uncounted_runs))
        elif runs[0].refuses and not any(run.verdict == "failed" for run in runs):
            counter["refused"] += 1
            continue
        elif on_device and unproven(runs):
            counter["unknown_placement"] += 1
        elif any(map(fails, counted_runs)):
            counter["failed"] += 1
            causes.append(
                most_frequent(
                    "placement" if counted_run.verdict == "passed" else counted_run.cause or "unknown"
                    for counted_run in counted_runs
                    if fails(counted_run)
                )
            )
        else:
            counter["passed"] += 1
        counter["flaky"] += len({counted_run.verdict for counted_run in counted_runs}) > 1
        counter["fell_back"] += any(counted_run.fell_back for counted_run in counted_runs)
    return {
        **{name: counter[name] for name in COUNTS},
        "verdict": added_up(counter["passed"], counter["failed"], counter["incomplete"]),
        "cause": most_frequent(causes),
        "not_counted_cause": most_frequent(others),
        "total": counter["passed"] + counter["failed"],
        "unknown_placement": counter["unknown_placement"],
    }


def by_function(outcomes: Iterable[Planned]) -> dict[tuple[int, int, str], list[list[Planned]]]:
    cases: dict[tuple[int, int, str], dict[int, list[Planned]]] = {}
    for outcome in outcomes:
        key = (outcome.campaign, outcome.target, outcome.function)
        cases.setdefault(key, {}).setdefault(outcome.case, []).append(outcome)
    return {key: list(runs_by_case.values()) for key, runs_by_case in cases.items()}


@pytest.mark.parametrize("seed", range(4))
async def test_function_verdicts(database: str, seed: int) -> None:
    outcomes = list(draw_outcomes(random.Random(seed), 2, 4))
    connection = await asyncpg.connect(database)
    await store(connection, outcomes, 2, 4)
    rows = {
        (row["campaign_id"], row["target_id"], row["function"]): dict(row)
        for row in await connection.fetch("select * from function_verdicts")
    }
    await connection.close()
    expected_cases = by_function(outcomes)
    assert rows.keys() == expected_cases.keys()
    for key, cases in expected_cases.items():
        row, host_only = rows[key], cases[0][0].host_only
        plain, strict = counts(cases, on_device=False), counts(cases, on_device=True)
        assert plain.pop("unknown_placement") == 0
        assert {name: row[name] for name in plain} == plain
        assert row["host_only"] == host_only
        assert row["device"] == f"device{key[1]}"
        for name in ("verdict", "passed", "failed", "cause", "total"):
            assert row[f"{name}_on_device"] == (None if host_only else strict[name])
        assert row["unknown_placement"] == (None if host_only else strict["unknown_placement"])
    assert {row["verdict"] for row in rows.values()} == {"success", "partial", "complete", "unknown"}
    assert any(row["verdict_on_device"] not in (row["verdict"], None) for row in rows.values())
    assert any(row["verdict"] == "unknown" and row["passed"] and row["incomplete"] for row in rows.values())
    assert any(row["flaky"] for row in rows.values())
    assert any(row["refused"] for row in rows.values())
    assert any(row["accepted"] for row in rows.values())
    assert any(row["unknown_placement"] for row in rows.values())
    assert any(row["verdict"] == "success" and row["verdict_on_device"] == "unknown" for row in rows.values())


def main_cause(runs: list[Planned]) -> str | None:
    return most_frequent(run.cause or "unknown" for run in runs if run.verdict == "failed" and not run.accepted)


def by_rule(cases: list[list[Planned]]) -> dict[str, dict[str, Any]]:
    """A function's counts by each rule, computed only from the rule's sentence. NumPy judges every third case."""
    plain = counts(cases, on_device=False)
    alone = {"verdict": "unknown"} if plain["total"] < 2 else {}
    by_placement = {
        "anywhere": plain,
        "without_host_work": counts([runs for runs in cases if main_cause(runs) != "host_work"], on_device=False),
        "independent": counts([runs for runs in cases if runs[0].case % 3 == 0], on_device=False),
        "without_one_case_verdicts": plain | alone,
    }
    if cases[0][0].host_only:
        return by_placement
    by_class = {
        name: counts([runs for runs in cases if case_class(runs[0].case) == name], on_device=True)
        for name in ("forward", "gradients", "sixteen_bit")
    }
    return by_placement | by_class | {"on_device": counts(cases, on_device=True)}


def case_class(case: int) -> str:
    """The classes of a case. Every fifth case is of a gradient, and every third is in bfloat16; some are both."""
    if case % 5 == 0:
        return "gradients"
    return "sixteen_bit" if case % 3 == 0 else "forward"


@pytest.mark.parametrize("seed", range(4))
async def test_function_counts_have_a_row_for_every_rule(database: str, seed: int) -> None:
    # Of two functions one case is left, so that a rule about single cases has something to say.
    outcomes = [
        outcome
        for outcome in draw_outcomes(random.Random(seed), 2, 4)
        if outcome.function not in ("torch.f0", "torch.f1") or outcome.case <= FUNCTIONS
    ]
    connection = await asyncpg.connect(database)
    await store(connection, outcomes, 2, 4)
    await connection.execute("update cases set tags = tags || '[\"judged-by-numpy\"]' where id % 3 = 0")
    await connection.execute("update cases set tags = tags || '[\"gradient\"]' where id % 5 = 0")
    await connection.execute("update cases set tags = tags || '[\"low-precision\"]' where id % 3 = 0")
    await connection.execute(
        "update outcomes set cause = 'host_work' where verdict = 'failed' and (case_id + target_id) % 3 = 0"
    )
    outcomes = [
        replace(outcome, cause=Cause.host_work)
        if outcome.verdict == "failed" and (outcome.case + outcome.target) % 3 == 0
        else outcome
        for outcome in outcomes
    ]
    rows: dict[tuple[int, int, str], dict[str, dict[str, Any]]] = {}
    for row in await connection.fetch("select * from function_counts"):
        rows.setdefault((row["campaign_id"], row["target_id"], row["function"]), {})[row["rule"]] = dict(row)
    await connection.close()
    expected_cases = by_function(outcomes)
    assert rows.keys() == expected_cases.keys()
    differing: Counter[str] = Counter()
    for key, cases in expected_cases.items():
        expected_counts = by_rule(cases)
        assert rows[key].keys() == expected_counts.keys()
        for rule, figures in expected_counts.items():
            stored_row = rows[key][rule]
            assert stored_row["unknown"] == figures["unknown_placement"]
            for name in ("verdict", "passed", "failed", "total", "cause"):
                assert stored_row[name] == figures[name], (key, rule, name)
            differing[rule] += stored_row["verdict"] != rows[key]["anywhere"]["verdict"]
    assert all(differing[rule] for rule in NAMES if rule != "anywhere"), differing


@pytest.mark.parametrize("seed", range(4))
async def test_function_latencies(database: str, seed: int) -> None:
    outcomes = list(draw_outcomes(random.Random(seed), 2, 4))
    connection = await asyncpg.connect(database)
    await store(connection, outcomes, 2, 4)
    await connection.execute("update cases set tags = tags || '[\"recompiled\"]' where id % 5 = 0")
    rows = {
        (row["campaign_id"], row["target_id"], row["function"]): dict(row)
        for row in await connection.fetch("select * from function_latencies")
    }
    await connection.close()
    expected_cases = by_function(
        outcome
        for outcome in outcomes
        if outcome.verdict == "passed"
        and (outcome.placement == "on_device" or outcome.host_only)
        and not (outcome.cold_ms is None and outcome.steady_ms is None)
    )
    assert rows.keys() == expected_cases.keys()
    for key, cases in expected_cases.items():
        row = rows[key]
        assert row["cases"] == len(cases)
        assert row["runs"] == sum(map(len, cases))
        assert row["samples"] == sum(len(run.samples or []) for runs in cases for run in runs)
        for name in ("cold_ms", "steady_ms", "iqr_ms"):
            assert row[name] == middle_of(map(median, values_by_case(cases, name)))
        assert row["low_ms"] == middle_of(map(min, values_by_case(cases, "low_ms")))
        first = [[run for run in runs if run.position == 0] for runs in cases]
        later = [[run for run in runs if run.position] for runs in cases]
        assert row["first_cold_ms"] == middle_of(map(median, values_by_case(first, "cold_ms")))
        assert row["later_cold_ms"] == middle_of(map(median, values_by_case(later, "cold_ms")))
        second_shape = [runs for runs in cases if runs[0].case % 5 == 0]
        assert row["second_shape_ms"] == middle_of(map(median, values_by_case(second_shape, "cold_ms")))
        assert row["noisy"] == sum(map(is_noisy, cases))
        assert row["unconfirmed"] == half_unconfirmed(cases)
    assert any(row["noisy"] for row in rows.values())
    assert {row["unconfirmed"] for row in rows.values()} >= {True, False}
    assert any(row["first_cold_ms"] != row["cold_ms"] for row in rows.values())
    assert {row["second_shape_ms"] is None for row in rows.values()} == {True, False}


async def test_outcome_rows(database: str) -> None:
    outcomes = {draw_outcome.job: draw_outcome for draw_outcome in draw_outcomes(random.Random(5), 1, 4)}
    connection = await asyncpg.connect(database)
    await store(connection, outcomes.values(), 1, 4)
    rows = await connection.fetch("select * from outcome_rows")
    assert {row["job_id"] for row in rows} == outcomes.keys()
    for row in rows:
        outcome = outcomes[row["job_id"]]
        assert (row["campaign"], row["suite"], row["revision"]) == ("campaign 1", "paper", "r1")
        assert (row["case"], row["run"]) == (f"{outcome.function}/{outcome.case}", outcome.run)
        assert (row["verdict"], row["cause"], row["host_only"]) == (outcome.verdict, outcome.cause, outcome.host_only)
        if outcome.host_only:
            assert (row["verdict_on_device"], row["cause_on_device"]) == (None, None)
        elif outcome.fell_back:
            assert (row["verdict_on_device"], row["cause_on_device"]) == ("failed", "placement")
        elif outcome.verdict == "passed" and outcome.placement != "on_device":
            assert (row["verdict_on_device"], row["cause_on_device"]) == ("unknown", None)
        else:
            assert (row["verdict_on_device"], row["cause_on_device"]) == (outcome.verdict, outcome.cause)
        assert row["samples"] == len(outcome.samples or [])
        assert (row["exception"], row["exit_code"], row["signal"]) == (("E", 3, None) if outcome.cause else (None,) * 3)
        assert (json.loads(row["devices"]), json.loads(row["fallbacks"])) == (["xla:0"], {"aten::nonzero": 2})
        assert (row["executed"], row["refuses"]) == (outcome.job, outcome.refuses)
        assert row["host"] == "harbour"
    await connection.close()


@pytest.mark.parametrize("exit_code", ['"3"', "[]", "1e30", "null", "true", "{}", "-1e30"])
async def test_no_evidence_can_break_outcome_rows(database: str, exit_code: str) -> None:
    connection = await asyncpg.connect(database)
    await store(connection, draw_outcomes(random.Random(6), 1, 1), 1, 1)
    await connection.execute("update outcomes set evidence = $1", f'{{"exit_code": {exit_code}}}')
    assert {row["exit_code"] for row in await connection.fetch("select exit_code from outcome_rows")} == {None}
    await connection.close()


@pytest.mark.parametrize("view", ["outcome_rows", "function_verdicts", "function_counts", "function_latencies"])
async def test_one_campaign_does_not_read_the_others(database: str, view: str) -> None:
    connection = await asyncpg.connect(database)
    await store(connection, draw_outcomes(random.Random(7), 40, 2), 40, 2)
    plan = "\n".join(
        row[0] for row in await connection.fetch(f"explain (costs off) select * from {view} where campaign_id = 7")
    )
    await connection.close()
    assert "Seq Scan on outcomes" not in plan, plan
    assert "campaign_id = 7" in plan


async def test_a_page_of_an_export_reads_little_more_than_itself(database: str) -> None:
    connection = await asyncpg.connect(database)
    await store(connection, draw_outcomes(random.Random(8), 20, 4), 20, 4)
    page = "select * from outcome_rows where campaign_id = 7 and job_id > 20 order by job_id limit 50"
    plan = json.loads(await connection.fetchval(f"explain (analyze, format json) {page}"))[0]["Plan"]
    await connection.close()

    def read(node: dict[str, Any]) -> Iterator[float]:
        if node.get("Relation Name") == "outcomes":
            yield node["Actual Rows"] * node["Actual Loops"]
        for child in node.get("Plans", ()):
            yield from read(child)

    assert 50 <= sum(read(plan)) <= 100, json.dumps(plan, indent=1)
