"""``assess`` measures how many problems of real models on a device Portolan predicts, and how many predictions come
true.

The truth is a whole run: each model makes a forward pass and a training step on the target, as under ``assess
--whole``. A whole run has these events, each counted once per model: a function raised an error or fell back on the
target; the command ended early without either; or values (of the forward pass, the gradient, or the running statistics
after the step) differ from the CPU's values by more than ``MOST_ERROR``, and by more than rounding explains.

There are two kinds of predictions. The recording predicts the findings of the same command, whose calls are replayed.
The source predicts the findings of ``assess PACKAGE``, from the evidence that ships with Portolan. Of these, only
findings in a file of which the forward pass calls a function count, and none in a layer that the model does not have,
or in a function that the program does not call. Conditions, notes and slow functions predict nothing.

An event and a prediction match if their kinds and the parts of their functions' names after the last dot are equal. A
layer counts as its function. A whole run sees the backward pass as one call, so every prediction for a gradient matches
it. For a run that ended early, only the predictions that came true count. For Keras nothing is predicted from the
source, because its models call TensorFlow only within Keras, in files that all models share.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from bench.assess.models import draw, read_models
from bench.assess.scoring import ModelEvent, Prediction
from bench.assess.trial import RECORDING, SOURCE, ScoredModel, UnfinishedError, install, read_source, try_model
from bench.figure import MeasuredFigure
from bench.place import folder, say

SEED = "PORTOLAN_BENCH_SEED"
WHOLE = "PORTOLAN_BENCH_WHOLE"
FOLDER_VARIABLE = "PORTOLAN_BENCH_FOLDER"
"""The variable that names a folder to keep. A later run with this folder does not repeat the steps whose files are
there."""
DRAWN = 6
LEAST: Mapping[str, tuple[float, float]] = {RECORDING: (0.95, 0.9), SOURCE: (0.8, 0.6)}
"""The goals: the smallest share of events that are predicted, and the smallest share of predictions that come true."""


def run() -> Iterator[MeasuredFigure]:
    models, seed = read_models(), int(os.environ.get(SEED) or random.SystemRandom().randrange(10_000))
    chosen_models = models if os.environ.get(WHOLE) else draw(models, DRAWN, seed)
    say("assess", f"{len(chosen_models)} of {len(models)} models, seed {seed}")
    trials: list[ScoredModel] = []
    reasons: dict[str, str] = {}
    with _place() as place:
        for package in {model.package.name: model.package for model in chosen_models}.values():
            package_folder = install(place / package.name, package)
            source = read_source(package, place, package_folder) if package.requirements else None
            for model in (model for model in chosen_models if model.package.name == package.name):
                try:
                    trials.append(try_model(model, source, place, package_folder))
                    say("assess", _line(trials[-1]))
                except UnfinishedError as error:
                    reasons[model.name] = str(error)
                    say("assess", f"{model.name}: {error}")
    for way in (RECORDING, SOURCE):
        yield from _figures(way, trials, reasons)


def _place() -> AbstractContextManager[Path]:
    """Return a context that opens the folder of the files: the folder that a person keeps, or a temporary folder."""
    kept_folder = os.environ.get(FOLDER_VARIABLE)
    if not kept_folder:
        return folder()
    place = Path(kept_folder).resolve()
    place.mkdir(parents=True, exist_ok=True)
    return nullcontext(place)


def _figures(way: str, trials: Sequence[ScoredModel], reasons: Mapping[str, str]) -> Iterator[MeasuredFigure]:
    scores = {trial.model.name: trial.scores[way] for trial in trials if way in trial.scores}
    models = {"models": sorted(scores), "unfinished": reasons}
    least_predicted, least_met = LEAST[way]
    missed_events = {name: _words(score.missed_events) for name, score in scores.items() if score.missed_events}
    yield _share(
        f"predicted_by_{way}",
        sum(score.predicted for score in scores.values()),
        sum(len(score.events) for score in scores.values()),
        "of what raised, was wrong or fell back",
        least_predicted,
        {**models, "missed": missed_events},
    )
    unmet_predictions = {
        name: _words(score.unmet_predictions) for name, score in scores.items() if score.unmet_predictions
    }
    yield _share(
        f"met_of_{way}",
        sum(score.met for score in scores.values()),
        sum(len(score.predictions) for score in scores.values()),
        "of the predictions",
        least_met,
        {**models, "unmet": unmet_predictions},
    )


def _share(name: str, count: int, of: int, unit: str, least: float, detail: dict[str, Any]) -> MeasuredFigure:
    share = count / of if of else None
    is_met = None if share is None else share >= least
    return MeasuredFigure(name, share, unit, target=f"{least:.0%}", met=is_met, n=of, detail=detail)


def _words(members: Iterable[ModelEvent] | Iterable[Prediction]) -> list[str]:
    return sorted(f"{one.function} {one.kind}" for one in members)


def _line(trial: ScoredModel) -> str:
    counts = (
        f"by the {way} {score.predicted} of {len(score.events)} predicted, {score.met} of {len(score.predictions)} met"
        for way, score in trial.scores.items()
    )
    return f"{trial.model.name}: {'; '.join(counts)}"
