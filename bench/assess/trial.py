"""Tries a model: records the model on the CPU, replays the recorded calls on the target, and runs the whole model on
the target.

These are the steps of ``portolan assess --run COMMAND --whole``, but nothing is timed. A step is not repeated if its
file is there, so that a kept folder can be scored again after a change of the product: delete the files of the steps
that the change affects.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bench import environment
from bench.assess.models import Model, ModelPackage
from bench.assess.scoring import Score, events_of, predictions_of_recording, predictions_of_source, score
from bench.place import PROJECT, CannotRunError
from coordinator.assess.bundled import from_bundles
from coordinator.assess.recordings import read_recording
from coordinator.assess.replayed import assess_replays
from coordinator.assess.verdicts import SLOW
from protocol.watched_run import WatchedRun

LIMIT_S = 240.0
"""Seconds for each step of a trial, except a replay."""
CASE_S = 2.0
"""Seconds for each case of a replay, in addition to ``LIMIT_S``. A model with 700 distinct calls takes 10 minutes on a
busy machine."""
STOP_S = 20.0
MOST_ERROR: Mapping[str, float] = {"forward": 1e-3, "gradient": 1e-3, "statistics": 1e-5}
"""The largest relative difference from the CPU's values that counts as right. Another order of summation in float32
makes an error of about 1e-5 through a whole model, and of about 1e-6 in running statistics, each of which is one
mean."""
SENSITIVE_VALUES = frozenset({"forward", "gradient"})
"""The values in which a model may amplify rounding: batch normalization over two values makes errors of 1 %."""
MOST_TIMES_ROUNDING = 100.0
"""A sensitive value is right if its error is at most this many times the error of the CPU in float32, as compared
with the CPU in float64. Over two values, XLA's batch normalization rounds 20 times as much as the CPU's."""
RECORDING, SOURCE = "recording", "source"
ON_CPU, ON_TARGET = "0", "1"
"""The folders into which the program writes its values: the recorded run, and the run on the target."""
EXACT = "exact"
"""The folder for the values of a run on the CPU in float64."""
PROGRAMS: Mapping[str, Path] = {
    framework: Path(__file__).parent / "programs" / f"{program}_model.py"
    for framework, program in (("torch", "torch"), ("tensorflow", "keras"))
}
Report = Mapping[str, Any]
"""The output of ``portolan assess --format json``."""


@dataclass(frozen=True)
class ScoredModel:
    """A model that ran, with one score for each kind of prediction."""

    model: Model
    scores: Mapping[str, Score]


class UnfinishedError(Exception):
    """A step of a trial failed or timed out; the message says why, in one line."""


def try_model(model: Model, source: Report | None, place: Path, package_folder: Path) -> ScoredModel:
    """Run a model and score the predictions for it. Raises ``UnfinishedError``."""
    out = place / "trials" / model.name
    values = out / "values"
    values.mkdir(parents=True, exist_ok=True)
    package, recording_file, bundle, run_file = model.package, out / "recording.json", out / "xla.bundle", out / "run"
    device = package.target.rpartition("/")[2]
    words = ["--", "python", "-W", "ignore", str(PROGRAMS[package.framework]), model.name, str(values)]
    run = partial(_run, out, package_folder)
    runner = ["-m", "runners"]
    if not recording_file.exists():
        shutil.rmtree(values / ON_CPU, ignore_errors=True)
        # The program names its folder by the number of those that are there.
        shutil.rmtree(values / ON_TARGET, ignore_errors=True)
        run_file.unlink(missing_ok=True)
        run([*runner, "record", package.framework, "--target", device, "--out", str(recording_file), *words])
    if not (out / EXACT).exists():
        _run_exactly(model, out / EXACT, package_folder)
    if not bundle.exists():
        replaying = [*runner, "run", package.framework, device, "--suite", str(recording_file), "--out", str(bundle)]
        options = ["--runs", "1", "--timing", "off", "--timeout-s", f"{LIMIT_S / 2:g}"]
        run([*replaying, *options], limit_s=_replay_limit_s(recording_file))
    if not run_file.exists():
        shutil.rmtree(values / ON_TARGET, ignore_errors=True)
        watching = [*runner, "watch", package.framework, device, "--out", str(run_file), "--timeout-s", f"{LIMIT_S:g}"]
        run([*watching, *words], may_fail=True)
    if not run_file.exists():
        raise UnfinishedError(f"the command did not start on the target: read the reason in {out / 'log.txt'}")
    whole = WatchedRun.model_validate_json(run_file.read_bytes())
    if whole.exit_code is None:
        raise UnfinishedError(
            f"the whole command took more than {LIMIT_S:g} s on the target: run the bench on an idle machine"
        )
    ended_early = whole.exit_code != 0
    events = events_of(whole, has_wrong_values=not ended_early and has_wrong_values(values, out / EXACT))
    recording = read_recording(recording_file.read_bytes(), model.name)
    (replays,) = from_bundles([bundle])
    predictions = predictions_of_recording(assess_replays(recording, replays, SLOW), replays)
    scores = {RECORDING: score(events, predictions, ended_early=ended_early)}
    if source is not None:
        unused_names = _unused_names(values, package_folder / package.name)
        scores[SOURCE] = score(events, predictions_of_source(source, unused_names), ended_early=ended_early)
    return ScoredModel(model, scores)


def read_source(package: ModelPackage, place: Path, package_folder: Path) -> Report:
    """Assess the source of a package with the evidence that ships with Portolan."""
    report = place / f"{package.name}.json"
    options = ["--on", package.target, "--format", "json", "--output", str(report)]
    if not report.exists():
        try:
            _run(place, package_folder, ["-m", "coordinator", "assess", str(package_folder / package.name), *options])
        except UnfinishedError as error:
            raise CannotRunError(
                f"the source of {package.name} was not assessed ({error}): read the reason in {place / 'log.txt'}"
            ) from error
    document: Report = json.loads(report.read_bytes())
    return document


def has_wrong_values(values: Path, exact_values: Path) -> bool:
    """Whether the values of the last run (on the target) differ from the values of the first run (on the CPU), by more
    than rounding explains."""

    def is_wrong(name: str, most_error: float) -> bool:
        on_cpu, on_target = (np.load(values / run / f"{name}.npy") for run in (ON_CPU, ON_TARGET))
        error = relative_error(on_target, on_cpu)
        if error <= most_error or name not in SENSITIVE_VALUES:
            return error > most_error
        exact_file = exact_values / ON_CPU / f"{name}.npy"
        rounding = relative_error(on_cpu, np.load(exact_file)) if exact_file.exists() else 0.0
        return error > MOST_TIMES_ROUNDING * rounding

    return any(is_wrong(name, most_error) for name, most_error in MOST_ERROR.items())


def relative_error(values: np.ndarray[Any, Any], expected_values: np.ndarray[Any, Any]) -> float:
    """The distance of two arrays, relative to the length of the second; infinite if their shapes differ."""
    if values.shape != expected_values.shape:
        return float("inf")
    length = float(np.linalg.norm(expected_values.astype(np.float64))) or 1.0
    distance = float(np.linalg.norm(values.astype(np.float64) - expected_values))
    return distance / length if np.isfinite(distance) else float("inf")


def install(place: Path, package: ModelPackage) -> Path:
    """Install the package's requirements into a separate folder, unless it is there. The framework is not
    installed."""
    if place.exists():
        return place
    place.mkdir()
    if not package.requirements:
        return place
    return environment.install(place, package.framework, package.requirements, "--compile-bytecode")


def _replay_limit_s(recording_file: Path) -> float:
    """The time limit for the replay of a recording, in seconds."""
    calls = read_recording(recording_file.read_bytes(), str(recording_file)).calls
    return LIMIT_S + CASE_S * sum(len(call.cases) for call in calls)


def _run_exactly(model: Model, folder: Path, package_folder: Path) -> None:
    """Run the model on the CPU in float64. Some models cannot run in float64, and then write no values."""
    python = environment.python_of(model.package.framework)
    folder.mkdir()
    program = [str(PROGRAMS[model.package.framework]), model.name, str(folder), "float64"]
    _run(folder.parent, package_folder, ["-W", "ignore", *program], may_fail=True, python=python)


def _unused_names(values: Path, package: Path) -> Mapping[str, Sequence[str]]:
    """For each file whose functions the model's forward pass calls: the layer classes in this file that the model does
    not have, and the functions that it does not call. Paths are as in the report."""
    names_by_file: Mapping[str, Sequence[str]] = json.loads((values / ON_CPU / "files.json").read_text())
    return {
        Path(file).relative_to(package).as_posix(): names
        for file, names in names_by_file.items()
        if Path(file).is_relative_to(package)
    }


def _run(
    out: Path,
    package_folder: Path,
    arguments: Sequence[str],
    *,
    may_fail: bool = False,
    python: str = sys.executable,
    limit_s: float = LIMIT_S,
) -> None:
    """Run a Portolan command or a program to its end and write its output to a file. Raises ``UnfinishedError``."""
    # No coordinator is used, because its evidence could come from any campaign.
    # The project comes first, because another clone may be installed in this environment.
    search_path = os.pathsep.join(map(str, (PROJECT, package_folder)))
    variables = {**os.environ, "PYTHONPATH": search_path, "PORTOLAN_DATA": str(out / "data")}
    with (out / "log.txt").open("ab") as log:
        process = subprocess.Popen(
            [python, "-P", *arguments], env=variables, cwd=package_folder, stdout=log, stderr=log
        )
        try:
            code = process.wait(limit_s + STOP_S)
        except subprocess.TimeoutExpired as error:
            raise UnfinishedError(
                f"{arguments[2]} took more than {limit_s:g} s: run the bench on an idle machine"
            ) from error
        finally:
            _end(process)
    if code and not may_fail:
        lines = (out / "log.txt").read_text(errors="replace").strip().splitlines() or ["no output"]
        raise UnfinishedError(f"{arguments[2]} ended with exit code {code}: {lines[-1]}")


def _end(process: subprocess.Popen[bytes]) -> None:
    """Interrupt the process as Ctrl-C does, so that it stops its own children."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
