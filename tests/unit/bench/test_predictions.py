"""Events of a whole run are matched with predictions by function and kind. The models, and how they are drawn."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench.assess import trial
from bench.assess.models import draw, read_models
from bench.assess.scoring import (
    COMMAND,
    VALUES,
    ModelEvent,
    Prediction,
    events_of,
    plain,
    predictions_of_recording,
    predictions_of_source,
    score,
)
from bench.assess.trial import PROGRAMS, UnfinishedError, install, relative_error, try_model
from coordinator.assess.replayed import assess_replays
from coordinator.assess.verdicts import SLOW, Kind
from coordinator.assess.whole_run import BACKWARD
from protocol.recording import RecordedSite
from protocol.watched_run import WatchedEvent, WatchedRun
from tests.unit.coordinator.assess.cases import target
from tests.unit.coordinator.assess.test_recorded_runs import call, outcome, recording


def whole(*events: tuple[str, Any], exit_code: int | None = 0) -> WatchedRun:
    sites = [RecordedSite(file="train.py", line=1, count=1)]
    return WatchedRun(
        portolan="0.1.0",
        framework="torch",
        version="2.9.0",
        device="xla",
        command=["python", "train.py"],
        watched_at=datetime(2026, 11, 28, tzinfo=UTC),
        seconds=1.0,
        exit_code=exit_code,
        notes=[],
        events=[WatchedEvent(function=name, kind=kind, said="it", sites=sites) for name, kind in events],
    )


def prediction(function: str, kind: Kind = Kind.fails, *, is_backward: bool = False) -> Prediction:
    return Prediction(function, kind, is_backward)


def test_events_and_predictions_of_one_function_and_kind_match() -> None:
    events = events_of(whole(("torch.sort", "fell_back"), ("torch.mm", "raised")), has_wrong_values=False)
    unmet_predictions = {prediction("torch.mm", Kind.falls_back), prediction("torch.sin")}
    result = score(events, {prediction("torch.Tensor.sort", Kind.falls_back), *unmet_predictions}, ended_early=False)
    assert result.missed_events == {ModelEvent("torch.mm", Kind.fails)}
    assert result.unmet_predictions == unmet_predictions
    assert (result.predicted, len(result.events), result.met, len(result.predictions)) == (1, 2, 1, 3)


def test_after_an_early_end_only_predictions_that_came_true_count() -> None:
    events = events_of(whole(("torch.mm", "raised"), exit_code=1), has_wrong_values=False)
    result = score(events, {prediction("torch.mm"), prediction("torch.sin")}, ended_early=True)
    assert result.predictions == {prediction("torch.mm")}
    assert not result.missed_events | result.unmet_predictions


@pytest.mark.parametrize("exit_code", [1, -11])
def test_an_early_end_that_no_call_raised_is_an_event_of_its_own(exit_code: int) -> None:
    events = events_of(whole(("torch.sort", "fell_back"), exit_code=exit_code), has_wrong_values=False)
    assert ModelEvent(COMMAND, Kind.fails) in events
    raising = events_of(whole(("torch.mm", "raised"), exit_code=exit_code), has_wrong_values=False)
    assert raising == {ModelEvent("torch.mm", Kind.fails)}


def test_an_event_of_the_backward_pass_is_met_by_a_prediction_for_a_gradient() -> None:
    events = events_of(whole((BACKWARD, "fell_back")), has_wrong_values=False)
    forward = prediction("torch.b", Kind.falls_back)
    result = score(events, {prediction("torch.a", Kind.falls_back, is_backward=True), forward}, ended_early=False)
    assert not result.missed_events
    assert result.unmet_predictions == {forward}


def test_a_recording_predicts_its_findings_and_says_which_have_a_gradient() -> None:
    calls = recording(call("torch.sort", "a", 3), call("torch.mm", "a", 5), call("torch.sin", "a", 6))
    replays = target(
        {
            "torch.sort": [outcome("torch.sort/a"), outcome("torch.sort/a-gradient", "fell_back")],
            "torch.mm": [outcome("torch.mm/a", "failed")],
            "torch.sin": [outcome("torch.sin/a")],
        }
    )
    assert set(predictions_of_recording(assess_replays(calls, replays, SLOW), replays)) == {
        prediction("torch.sort", Kind.falls_back, is_backward=True),
        prediction("torch.mm"),
    }


def test_a_source_predicts_its_findings_in_the_files_of_the_model() -> None:
    def finding(
        function: str, kind: str, *, weight: str = "finding", path: str = "a.py", within: str = "Used.forward"
    ) -> dict[str, Any]:
        places = [{"path": path, "within": within}]
        return {
            "function": function,
            "kind": kind,
            "weight": weight,
            "places": places,
            "backward": function != "torch.i",
        }

    report = {
        "findings": [
            finding("torch.a", "fails"),
            finding("torch.b", "slow"),
            finding("torch.c", "fails", weight="note"),
            finding("torch.d", "fails", path="b.py"),
            finding("torch.e", "wrong"),
            finding("torch.f", "wrong"),
            finding("torch.g", "fails", within="Unused.forward"),
            finding("torch.h", "fails", within="helper"),
            finding("torch.i", "fails"),
            finding("torch.j", "fails", within="uncalled"),
        ]
    }
    assert set(predictions_of_source(report, {"a.py": ["Unused", "uncalled"]})) == {
        prediction("torch.a", is_backward=True),
        prediction("torch.h", is_backward=True),
        prediction("torch.i"),
        prediction(VALUES, Kind.wrong),
    }


def test_a_layer_its_function_and_its_method_have_one_plain_name() -> None:
    names = ("torch.nn.MaxPool2d", "torch.nn.functional.max_pool2d", "torch.Tensor.max_pool2d_")
    assert {plain(name) for name in names} == {"maxpool2d"}


def test_an_error_is_relative_and_infinite_for_other_shapes_and_for_no_numbers() -> None:
    ones = np.ones(4, np.float32)
    assert relative_error(1.01 * ones, ones) == pytest.approx(0.01, rel=1e-3)
    assert relative_error(ones[:3], ones) == float("inf")
    assert relative_error(np.nan * ones, ones) == float("inf")
    assert relative_error(0 * ones, 0 * ones) == 0


@pytest.mark.parametrize(
    ("name", "rounding", "is_wrong"),
    [
        ("gradient", 0.0, True),
        ("gradient", 1e-5, True),
        ("gradient", 1e-3, False),
        ("forward", 1e-3, False),
        ("statistics", 1e-3, True),
    ],
)
def test_values_are_right_if_rounding_explains_their_error(
    name: str, rounding: float, is_wrong: bool, tmp_path: Path
) -> None:
    ones = np.ones(4)
    factors = {"0": 1.0, "1": 1.01, "exact/0": 1 + rounding}
    for folder_name, factor in factors.items():
        (tmp_path / folder_name).mkdir(parents=True)
        for value_name in trial.MOST_ERROR if folder_name != "exact/0" or rounding else ():
            np.save(tmp_path / folder_name / f"{value_name}.npy", factor * ones if value_name == name else ones)
    assert trial.has_wrong_values(tmp_path, tmp_path / "exact") is is_wrong


def test_sixty_models_are_listed_each_for_a_program_that_is_there() -> None:
    models = read_models()
    assert len(models) == 60
    assert {model.package.name for model in models} == {"torchvision", "timm", "transformers", "keras"}
    assert all(PROGRAMS[model.package.framework].is_file() for model in models)


def test_a_draw_is_repeated_by_its_seed() -> None:
    models = read_models()
    part = draw(models, 6, 3)
    assert part == draw(models, 6, 3) != draw(models, 6, 4)
    assert part == [model for model in models if model in part]
    assert draw(models, 100, 1) == models


def test_a_step_whose_file_is_there_is_not_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, steps = read_models()[0], []

    def note(out: Path, package_folder: Path, arguments: list[str], **_: Any) -> None:
        steps.append(arguments[2])
        Path(arguments[arguments.index("--out") + 1]).write_text(whole(exit_code=None).model_dump_json())

    monkeypatch.setattr(trial, "_run", note)
    monkeypatch.setattr(trial, "_run_exactly", lambda *_: None)
    monkeypatch.setattr(trial, "_replay_limit_s", lambda _: trial.LIMIT_S)
    for missing_file, expected_steps in (
        ("", ["record", "run", "watch"]),
        ("run", ["watch"]),
        ("xla.bundle", ["run"]),
        ("recording.json", ["record", "watch"]),
    ):
        if missing_file:
            (tmp_path / "trials" / model.name / missing_file).unlink()
        steps.clear()
        with pytest.raises(UnfinishedError, match="took more than"):
            try_model(model, None, tmp_path, tmp_path)
        assert steps == expected_steps
    assert install(tmp_path, model.package) == tmp_path
