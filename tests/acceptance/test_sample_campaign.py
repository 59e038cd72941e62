"""A campaign whose functions are a sample: the sample is drawn and submitted as a file, and pages show the share that
passes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from coordinator.catalogue.models import FunctionSample
from tests.acceptance.test_one_read_side import text_of
from tests.coordinator_process import CoordinatorProcess
from tests.portolan_process import Portolan
from tests.runner_process import RunnerProcess

GONE = ("hazards.nowhere", "hazards.never")


def drawn_row(function: str, stratum: str, **more: Any) -> dict[str, Any]:
    return {"function": function, "uses": 7, "stratum": stratum} | more


SAMPLE = {
    "name": "harbour",
    "surface": "hazards@0",
    "corpus": "three programs",
    "seed": 5,
    "top": 2,
    "per_decile": 1,
    "members": False,
    "guessed": False,
    "population": 30,
    "drawn": [
        drawn_row("hazards.add", "top2"),
        drawn_row(GONE[0], "top2"),
        # The suite charts it under another of its names.
        drawn_row("hazards.sleep", "decile10", aliases=["hazards.a", "hazards.nap"]),
        drawn_row(GONE[1], "decile20", instead_of="hazards.secret", because="it is private"),
    ],
}


@pytest.fixture
def portolan(tmp_path: Path, coordinator: CoordinatorProcess, runner: RunnerProcess) -> Portolan:
    return Portolan(tmp_path / "data", PORTOLAN_URL=coordinator.url)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "harbour.json"
    path.write_text(json.dumps(SAMPLE))
    return path


def test_a_drawn_sample_is_written_as_a_file_with_all_that_draws_it_again(portolan: Portolan, tmp_path: Path) -> None:
    for name in ("one.json", "two.json"):
        process = portolan.call(
            *("catalogue", "sample", "torch@2.9.0", "--top", "3", "--per-decile", "1", "--seed", "4"),
            *("--name", "small", "--out", str(tmp_path / name)),
        )
        assert (process.returncode, process.stdout) == (0, "")
    sample = FunctionSample.model_validate_json((tmp_path / "one.json").read_bytes())
    assert sample == FunctionSample.model_validate_json((tmp_path / "two.json").read_bytes())
    assert (sample.name, sample.surface, sample.seed) == ("small", "torch@2.9.0", 4)
    assert sample.drawn[0].function == "torch.nn.Linear"
    many = ("catalogue", "sample", "torch@2.9.0", "--json", "--top", "200", "--per-decile", "0")
    aliases = {row["function"]: row["aliases"] for row in json.loads(portolan.ask(*many))["drawn"]}
    assert aliases["torch.conv2d"] == ["torch.nn.functional.conv2d"]


def test_a_campaign_on_a_sample_keeps_it_and_says_what_is_not_charted(
    portolan: Portolan, coordinator: CoordinatorProcess, file: Path
) -> None:
    options = ("--sample", str(file), "--suite", "hazards", "--runs", "1", "--timing", "off")
    plan = portolan.call("submit", *options, "--dry-run")
    assert "2 functions" in plan.stdout
    submission = portolan.call("submit", *options)
    for process in (plan, submission):
        assert f"not charted, because the suite has no case of them: {', '.join(GONE)}" in process.stderr
    campaign = int(submission.stdout)
    detail = coordinator.wait_ended(campaign)
    assert detail["sample"] == "harbour"
    assert detail["functions"] == ["hazards.add", "hazards.nap"]
    assert detail["not_charted"] == list(GONE)

    sample_answer = coordinator.http.get(f"/campaigns/{campaign}/sample").json()
    assert sample_answer["not_charted"] == list(GONE)
    kept_sample = {**sample_answer["sample"], "drawn": [{**row} for row in sample_answer["sample"]["drawn"]]}
    charted_names = [row.pop("charted_as") for row in kept_sample["drawn"]]
    assert charted_names == ["hazards.add", None, "hazards.nap", None]
    assert kept_sample == json.loads(FunctionSample.model_validate(SAMPLE).model_dump_json())

    rates = {rate["part"]: rate for rate in sample_answer["rates"]}
    assert rates.keys() == {"all", "the most used", "drawn from the deciles"}
    whole = rates["all"]
    assert (whole["drawn"], whole["charted"], whole["ports"]["n"]) == (4, 2, 2)
    assert rates["the most used"]["ports"] == {
        "count": 0, "n": 1, "percent": 0.0, "low": 0.0, "high": pytest.approx(79.35, abs=0.01),
    }  # fmt: skip
    assert whole["ports"]["count"] == rates["drawn from the deciles"]["ports"]["count"]

    (row,) = [
        row
        for row in coordinator.http.get(f"/campaigns/{campaign}/tables/sample").json()["rows"]
        if row["part"] == "all"
    ]
    assert row["ports"] == whole["ports"]
    share_text = f"{whole['ports']['percent']:.1f} % ({whole['ports']['count']}/2;"
    sentence = "Its functions are the sample harbour: 4 of 30 functions of hazards@0 in use in three programs"
    assert share_text in text_of(coordinator.page(f"/campaigns/{campaign}"))
    for path in ("", "/matrix", "/report"):
        page = text_of(coordinator.page(f"/campaigns/{campaign}{path}"))
        assert sentence in page, path
        assert "hazards.nowhere and hazards.never" in page, path
    assert sentence in portolan.ask("results", str(campaign))
    assert "its functions are the sample harbour" in portolan.ask("status", str(campaign))


def test_of_a_list_with_unknown_functions_the_rest_is_charted(
    portolan: Portolan, coordinator: CoordinatorProcess
) -> None:
    arguments = ("submit", "--suite", "hazards", "--runs", "1", "--timing", "off", "--functions")
    mixed_list = f"{GONE[0]} hazards.add {GONE[1]}"
    submission = portolan.call(*arguments, mixed_list)
    for process in (portolan.call(*arguments, mixed_list, "--dry-run"), submission):
        assert f"not charted, because the suite has no case of them: {', '.join(GONE)}" in process.stderr
    detail = coordinator.wait_ended(int(submission.stdout))
    assert detail["not_charted"] == list(GONE)
    assert detail["counters"]["done"] > 0
    assert ", ".join(GONE) in text_of(coordinator.page(f"/campaigns/{detail['id']}"))
    refusal = portolan.call(*arguments, " ".join(GONE))
    assert refusal.returncode == 2
    assert all(f"'{name}'" in refusal.stderr for name in GONE)


def test_any_other_campaign_has_no_sample(coordinator: CoordinatorProcess, runner: RunnerProcess) -> None:
    campaign = coordinator.submit("hazards.add", runs=1)
    assert coordinator.wait_ended(campaign)["sample"] is None
    answer = coordinator.http.get(f"/campaigns/{campaign}/sample")
    assert answer.status_code == 404
    assert "are not a sample" in answer.json()["detail"]


@pytest.mark.parametrize(
    ("changes", "fields", "complaint"),
    [
        ({}, {"functions": ["hazards.add"]}, "a sample already names the functions"),
        ({}, {"rerun": {"campaign": 1, "which": "failed"}}, "a rerun has its own functions"),
        ({"surface": "torch@2.9.0"}, {}, "none of the selected targets runs"),
        ({"drawn": [drawn_row("hazards.nowhere", "top2")]}, {}, "has no case of any function of the sample"),
        ({"drawn": []}, {}, "sample.drawn"),
        ({"drawn": [drawn_row("f", "top2")] * 1001}, {}, "sample.drawn"),
        ({"name": "a\0b"}, {}, "NUL"),
        ({"seed": 2**70}, {}, "sample.seed"),
        ({"surprise": 1}, {}, "sample.surprise"),
    ],
)
def test_a_sample_that_cannot_be_charted_is_refused(
    coordinator: CoordinatorProcess,
    runner: RunnerProcess,
    changes: dict[str, Any],
    fields: dict[str, Any],
    complaint: str,
) -> None:
    body = {"suite": "hazards", "sample": SAMPLE | changes, **fields}
    answer = coordinator.http.post("/campaigns", json=body)
    assert answer.status_code == 422, answer.text
    assert complaint in answer.text


def test_a_file_that_is_no_sample_is_one_line(portolan: Portolan, tmp_path: Path) -> None:
    (tmp_path / "functions").write_text("torch.add\n")
    assert "is not a sample" in portolan.refused("submit", "--sample", str(tmp_path / "functions"))
    assert "no such file" in portolan.refused("submit", "--sample", "/none")
