"""``assess``: how much of what goes wrong with real models on a device is predicted, and how much of that comes true.

The truth is a whole run: each model makes a forward pass and a training step on the target, under ``assess --whole``.
Its events are, once a model each, a function that raised or fell back there, an early end of the command without
either, and values (of the forward pass, or the gradient) that differ from the CPU's by more than ``MOST_ERROR`` of
their length.

There are two predictions. That of the recording is the findings of the same command. That of the source is the findings
of ``assess PACKAGE`` with a place in a file that defines a class of the model's modules, from the evidence that ships
with Portolan. Conditions and notes predict nothing. An event and a finding match by kind and by the last part of the
function's name; ``scoring.py`` has the rules. Of a run that ended early no prediction counts that it did not meet.

Keras has no figures of the source: its models call TensorFlow only within Keras, in files that all of them share.
"""

from __future__ import annotations

import json
import os
import random
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench.assess.models import Model, Package, drawn, read_models
from bench.assess.scoring import Document, Key, Score, events_of, findings_of, score
from bench.figure import Figure
from bench.place import CannotRunError, folder, say
from runners.cli import environments

INSTALL = "PORTOLAN_BENCH_INSTALL"
SEED = "PORTOLAN_BENCH_SEED"
WHOLE = "PORTOLAN_BENCH_WHOLE"
DRAWN = 6
LIMIT_S = 240.0
"""Seconds for the assessment of one model."""
STOP_S = 20.0
MOST_ERROR = 1e-3
"""Of values, relative to the CPU's: a hundred times what the order of sums makes of such models in float32."""
PROGRAMS: Mapping[str, Path] = {
    framework: Path(__file__).parent / "programs" / f"{program}_model.py"
    for framework, program in (("torch", "torch"), ("tensorflow", "keras"))
}
RECORDING, SOURCE = "recording", "source"
LEAST: Mapping[str, tuple[float, float]] = {RECORDING: (0.95, 0.9), SOURCE: (0.8, 0.6)}
"""Of the events that must be predicted, and of the predictions that must come true."""


@dataclass(frozen=True)
class Trial:
    """A model that ran, with the score of each way to predict."""

    model: Model
    scores: Mapping[str, Score]


@dataclass(frozen=True)
class Unfinished:
    """A model that could not be judged, and the reason."""

    model: Model
    reason: str


def run() -> Iterator[Figure]:
    models, seed = read_models(), int(os.environ.get(SEED) or random.SystemRandom().randrange(10_000))
    chosen_models = models if os.environ.get(WHOLE) else drawn(models, DRAWN, seed)
    say("assess", f"{len(chosen_models)} of {len(models)} models, seed {seed}")
    trials: list[Trial | Unfinished] = []
    with folder() as place:
        for package in {model.package.name: model.package for model in chosen_models}.values():
            own_models = [model for model in chosen_models if model.package is package]
            trials += _of_package(package, own_models, place)
    yield from _figures(trials)


def _of_package(package: Package, models: Sequence[Model], place: Path) -> Iterator[Trial | Unfinished]:
    package_folder = _install(place / package.name, package)
    source = None
    if package.requirements:
        say("assess", f"the source of {package.name}")
        source = _report([str(package_folder / package.name), "--on", package.target], place, package_folder)
    for model in models:
        trial = _trial(model, source, place, package_folder)
        say("assess", _line(trial))
        yield trial


def _trial(model: Model, source: Document | str | None, place: Path, package_folder: Path) -> Trial | Unfinished:
    out = place / "values" / model.name
    out.mkdir(parents=True)
    program = PROGRAMS[model.package.framework]
    command = shlex.join([_python(model.package), "-W", "ignore", str(program), model.name, str(out)])
    report = _report(["--run", command, "--on", model.package.target, "--whole"], place, package_folder)
    reason = _why_unfinished(report)
    if isinstance(report, str) or reason is not None:
        return Unfinished(model, reason or str(report))
    whole = report["whole"]
    events = events_of(whole, has_wrong_values=whole["exit_code"] == 0 and has_wrong_values(out))
    ended_early = whole["exit_code"] != 0
    scores = {RECORDING: score(events, findings_of(report), ended_early=ended_early)}
    if isinstance(source, Mapping):
        files = _files(out, package_folder / model.package.name)
        scores[SOURCE] = score(events, findings_of(source, files), ended_early=ended_early)
    return Trial(model, scores)


def _why_unfinished(report: Document | str) -> str | None:
    """The reason for which a report says nothing of predictions."""
    if isinstance(report, str):
        return report
    if report["run"]["exit_code"] != 0:
        return f"the command ended with exit code {report['run']['exit_code']} on the CPU"
    if not report["run"]["is_replayed"]:
        return "its calls were not replayed"
    return str(report["why_not_whole"]) if report["whole"] is None else None


def has_wrong_values(out: Path) -> bool:
    """Whether the values of the last run, on the target, differ from those of the first, on the CPU."""
    return any(
        relative_error(np.load(out / "1" / name), np.load(out / "0" / name)) > MOST_ERROR
        for name in ("forward.npy", "gradient.npy")
    )


def relative_error(values: np.ndarray[Any, Any], expected_values: np.ndarray[Any, Any]) -> float:
    """The distance of two arrays, relative to the length of the second; infinite if their shapes differ."""
    if values.shape != expected_values.shape:
        return float("inf")
    length = float(np.linalg.norm(expected_values.astype(np.float64))) or 1.0
    distance = float(np.linalg.norm(values.astype(np.float64) - expected_values))
    return distance / length if np.isfinite(distance) else float("inf")


def _files(out: Path, package: Path) -> set[str]:
    """The files of a model's classes as a report of its package names them."""
    files = map(Path, json.loads((out / "0" / "files.json").read_text()))
    return {file.relative_to(package).as_posix() for file in files if file.is_relative_to(package)}


def _report(arguments: Sequence[str], place: Path, package_folder: Path) -> Document | str:
    """The report of an assessment; a reason if there is none."""
    report = place / "report.json"
    report.unlink(missing_ok=True)
    command = [
        sys.executable,
        "-P",
        "-m",
        "coordinator",
        "assess",
        *arguments,
        "--format",
        "json",
        "--output",
        str(report),
    ]
    # No coordinator is asked: its evidence may be of anything.
    variables = {**os.environ, "PYTHONPATH": str(package_folder), "PORTOLAN_DATA": str(place / "data")}
    with (place / "log.txt").open("wb") as log:
        process = subprocess.Popen(command, env=variables, cwd=package_folder, stdout=log, stderr=log)
        try:
            code = process.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            return f"it took more than {LIMIT_S:g} s"
        finally:
            _end(process)
    if code or not report.exists():
        lines = (place / "log.txt").read_text(errors="replace").strip().splitlines() or ["it said nothing"]
        return f"assess ended with exit code {code}: {lines[-1]}"
    document: Document = json.loads(report.read_bytes())
    return document


def _end(process: subprocess.Popen[bytes]) -> None:
    """End it as Ctrl-C does, so that it ends what it started."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _figures(trials: Sequence[Trial | Unfinished]) -> Iterator[Figure]:
    judged_trials = [trial for trial in trials if isinstance(trial, Trial)]
    unfinished = {trial.model.name: trial.reason for trial in trials if isinstance(trial, Unfinished)}
    for way, (least_predicted, least_met) in LEAST.items():
        of_way = {trial.model.name: trial.scores[way] for trial in judged_trials if way in trial.scores}
        detail = {"models": sorted(of_way), "of_models": len(trials), "unfinished": unfinished}
        missed = {name: _words(score.missed_events) for name, score in of_way.items() if score.missed_events}
        unmet = {name: _words(score.unmet_predictions) for name, score in of_way.items() if score.unmet_predictions}
        events = sum(len(score.events) for score in of_way.values())
        predictions = sum(len(score.predictions) for score in of_way.values())
        yield _share(
            f"predicted_by_{way}",
            sum(len(score.predicted_events) for score in of_way.values()),
            events,
            "of what raised, was wrong or fell back",
            least_predicted,
            {**detail, "missed": missed},
        )
        yield _share(
            f"met_of_{way}",
            sum(len(score.met_predictions) for score in of_way.values()),
            predictions,
            "of the predictions",
            least_met,
            {**detail, "unmet": unmet},
        )


def _share(name: str, count: int, of: int, unit: str, least: float, detail: dict[str, Any]) -> Figure:
    share = count / of if of else None
    met = None if share is None else share >= least
    return Figure(name, share, unit, target=f"{least:.0%}", met=met, n=of, detail=detail)


def _words(keys: frozenset[Key]) -> list[str]:
    return [f"{key.function} {key.kind}" for key in sorted(keys)]


def _line(trial: Trial | Unfinished) -> str:
    if isinstance(trial, Unfinished):
        return f"{trial.model.name}: {trial.reason}"
    counts = (
        f"by the {way} {len(score.predicted_events)} of {len(score.events)} predicted, "
        f"{len(score.met_predictions)} of {len(score.predictions)} met"
        for way, score in trial.scores.items()
    )
    return f"{trial.model.name}: {'; '.join(counts)}"


def _install(place: Path, package: Package) -> Path:
    """Install what the package needs beside its framework into a folder of its own."""
    place.mkdir()
    if not package.requirements:
        return place
    uv = shutil.which("uv", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]))
    if uv is None or os.environ.get(INSTALL) != "1":
        raise CannotRunError(f"set {INSTALL}=1 where uv is: it installs the packages into a folder that is deleted")
    command = [uv, "pip", "install", "--quiet", "--no-deps", "--python", _python(package), "--target", str(place)]
    if subprocess.run([*command, *package.requirements], stdout=sys.stderr, check=False).returncode:
        raise CannotRunError(f"uv could not install {' '.join(package.requirements)}: its words are above")
    return place


def _python(package: Package) -> str:
    environment = environments.find(package.framework)
    if environment is None:
        raise CannotRunError(f"{package.framework} is not set up; run: portolan-runner setup {package.framework}")
    return str(environment / "bin" / "python")
