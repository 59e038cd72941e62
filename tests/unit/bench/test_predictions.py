"""Events of a whole run are matched with findings by function and kind, and the list of models is whole."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bench.assess import PROGRAMS, relative_error
from bench.assess.models import drawn, read_models
from bench.assess.scoring import BACKWARD, COMMAND, VALUES, Key, events_of, findings_of, plain, score


def finding(
    function: str, kind: str, *, case: str = "a", weight: str = "finding", path: str = "a.py"
) -> dict[str, Any]:
    return {"function": function, "kind": kind, "case": case, "weight": weight, "places": [{"path": path}]}


def whole(*events: tuple[str, str], exit_code: int | None = 0) -> dict[str, Any]:
    return {"exit_code": exit_code, "events": [{"function": name, "kind": kind} for name, kind in events]}


def test_events_and_findings_of_one_function_and_kind_match() -> None:
    events = events_of(whole(("torch.sort", "falls-back"), ("torch.mm", "fails")), has_wrong_values=False)
    findings = [
        finding("torch.Tensor.sort", "falls-back"),
        finding("torch.mm", "falls-back"),
        finding("torch.sin", "fails"),
    ]
    result = score(events, findings, ended_early=False)
    assert result.missed_events == {Key("torch.mm", "fails")}
    assert result.unmet_predictions == {Key("torch.mm", "falls-back"), Key("torch.sin", "fails")}
    assert result.met_predictions == {Key("torch.Tensor.sort", "falls-back")}


def test_after_an_early_end_only_predictions_that_came_true_count() -> None:
    events = events_of(whole(("torch.mm", "fails"), exit_code=1), has_wrong_values=False)
    result = score(events, [finding("torch.mm", "fails"), finding("torch.sin", "fails")], ended_early=True)
    assert result.predictions == {Key("torch.mm", "fails")}
    assert not result.missed_events


@pytest.mark.parametrize("exit_code", [1, -11, None])
def test_an_early_end_that_no_call_raised_is_an_event_of_its_own(exit_code: int | None) -> None:
    events = events_of(whole(("torch.sort", "falls-back"), exit_code=exit_code), has_wrong_values=False)
    assert Key(COMMAND, "fails") in events
    assert Key(COMMAND, "fails") not in events_of(whole(("torch.mm", "fails"), exit_code=1), has_wrong_values=False)


def test_wrong_values_of_functions_are_one_prediction_of_the_models_values() -> None:
    findings = [finding("torch.sort", "wrong"), finding("torch.mm", "wrong")]
    result = score(events_of(whole(), has_wrong_values=True), findings, ended_early=False)
    assert result.predictions == result.met_predictions == result.events == {Key(VALUES, "wrong")}
    assert score(frozenset(), findings, ended_early=False).unmet_predictions == {Key(VALUES, "wrong")}


def test_an_event_of_the_backward_pass_is_predicted_by_a_case_with_a_gradient() -> None:
    events = events_of(whole((BACKWARD, "falls-back")), has_wrong_values=False)
    findings = [finding("torch.a", "falls-back", case="torch.a/x-gradient"), finding("torch.b", "falls-back")]
    result = score(events, findings, ended_early=False)
    assert not result.missed_events
    assert result.unmet_predictions == {Key("torch.b", "falls-back")}


def test_only_findings_that_a_whole_run_shows_predict_and_only_those_in_the_files() -> None:
    report = {
        "findings": [
            finding("torch.a", "fails"),
            finding("torch.b", "slow"),
            finding("torch.c", "fails", weight="note"),
            finding("torch.d", "fails", path="b.py"),
        ]
    }
    assert [one["function"] for one in findings_of(report)] == ["torch.a", "torch.d"]
    assert [one["function"] for one in findings_of(report, {"a.py"})] == ["torch.a"]


def test_a_layer_its_function_and_its_method_have_one_plain_name() -> None:
    names = ("torch.nn.MaxPool2d", "torch.nn.functional.max_pool2d", "torch.Tensor.max_pool2d_")
    assert {plain(name) for name in names} == {"maxpool2d"}


def test_an_error_is_relative_and_infinite_for_other_shapes_and_for_no_numbers() -> None:
    ones = np.ones(4, np.float32)
    assert relative_error(1.01 * ones, ones) == pytest.approx(0.01, rel=1e-3)
    assert relative_error(ones[:3], ones) == float("inf")
    assert relative_error(np.nan * ones, ones) == float("inf")
    assert relative_error(0 * ones, 0 * ones) == 0


def test_sixty_models_are_listed_each_for_a_program_that_is_there() -> None:
    models = read_models()
    assert len(models) == 60
    assert {package for model in models for package in [model.package.name]} == {
        "torchvision",
        "timm",
        "transformers",
        "keras",
    }
    assert all(PROGRAMS[model.package.framework].is_file() for model in models)


def test_a_draw_is_repeated_by_its_seed() -> None:
    models = read_models()
    part = drawn(models, 6, 3)
    assert part == drawn(models, 6, 3) != drawn(models, 6, 4)
    assert part == [model for model in models if model in part]
    assert drawn(models, 100, 1) == models
