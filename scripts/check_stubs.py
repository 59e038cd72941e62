"""Compares the outcomes of every case of a suite in two environments: torch with and without CUDA's packages.

``check_stubs.py [--suites SUITE …] [--devices DEVICE …] [--functions GLOB …]`` runs each suite once without timing in
both environments, and compares verdict, ending, placement and fallbacks. ``make check-stubs`` calls it. Bundles are
kept in ``build/stubs``. A complete bundle is reused, so that an interrupted check can continue. A case whose outcomes
differ runs again in both environments, because some cases give different outcomes in each run. The exit code is 1 if a
case differs twice.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / "build" / "stubs"
SLOTS = 2
SHOWN = 20
NAMES = {"without": "without", "whole": "with"}

Compared = tuple[str, str, str, tuple[str, ...]]
"""The compared parts of an outcome: verdict, ending, placement, fallbacks."""


@dataclass(frozen=True)
class PairedOutcomes:
    """The outcomes of one suite on one device in both environments, by case."""

    without: Mapping[str, Compared]
    whole: Mapping[str, Compared]

    @property
    def differing(self) -> list[str]:
        """The cases that are missing in one environment, or whose outcomes differ."""
        cases = sorted({*self.without, *self.whole})
        return [case for case in cases if self.without.get(case) != self.whole.get(case)]

    @property
    def failed(self) -> int:
        """The number of cases that did not pass in the complete environment."""
        return sum(verdict != "passed" for verdict, *_ in self.whole.values())


def main(arguments: list[str]) -> int:
    options = _options(arguments)
    sys.path.insert(0, str(ROOT))
    from runners.cli import environments

    places = {"without": environments.set_up("torch"), "whole": environments.set_up("torch", whole=True)}
    if not (places["without"] / environments.STAND_IN).exists():
        print("check-stubs: this machine's build of torch needs no stubs: nothing to compare")
        return 0
    KEPT.mkdir(parents=True, exist_ok=True)
    differing = 0
    for suite in options.suites:
        for device in options.devices:
            differing += _check(places, suite, device, options.functions)
    return int(differing > 0)


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="check_stubs.py", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--suites", nargs="+", default=["paper", "library"])
    parser.add_argument("--devices", nargs="+", default=["cpu", "xla"])
    parser.add_argument("--functions", nargs="+", default=["*"])
    return parser.parse_args(arguments)


def _check(places: Mapping[str, Path], suite: str, device: str, functions: Sequence[str]) -> int:
    """Run and compare one suite on one device. Returns the number of cases that differ twice."""
    name, began = f"{suite} on torch/{device}", time.monotonic()
    comparison = _compare(places, suite, device, functions, "")
    again: list[str] = []
    if comparison.differing:
        functions_to_repeat = sorted({case.rpartition("/")[0] for case in comparison.differing})
        twice = _compare(places, suite, device, functions_to_repeat, "-again").differing
        again = [case for case in comparison.differing if case in twice]
    cases = len(comparison.whole)
    print(
        f"{name}: {cases - len(again):,} of {cases:,} outcomes equal, {comparison.failed:,} of them not passed; "
        f"{len(comparison.differing) - len(again)} differed once and not again ({time.monotonic() - began:.0f} s)",
        flush=True,
    )
    for case in again[:SHOWN]:
        print(f"  {case}: without {comparison.without.get(case)}, with {comparison.whole.get(case)}")
    return len(again)


def _compare(
    places: Mapping[str, Path], suite: str, device: str, functions: Sequence[str], name: str
) -> PairedOutcomes:
    bundles = {kind: _bundle(kind, place, suite, device, functions, name) for kind, place in places.items()}
    return PairedOutcomes(**{kind: dict(_outcomes(bundle)) for kind, bundle in bundles.items()})


def _bundle(kind: str, place: Path, suite: str, device: str, functions: Sequence[str], name: str) -> Path:
    """The bundle of a suite from one environment. If it does not exist, the suite is run."""
    suffix = "" if list(functions) == ["*"] else f"-{zlib.crc32(' '.join(functions).encode()):08x}"
    out = KEPT / f"{place.name}-{suite}-{device}{suffix}{name}.portolan"
    if name:
        out.unlink(missing_ok=True)
    if not _is_complete(out):
        command = [sys.executable, "-P", "-m", "runners", "run", "torch", device, "--suite", suite, "--timing", "off"]
        command += ["--runs", "1", "--slots", str(SLOTS), "--python", str(place / "bin" / "python")]
        print(f"{suite} on torch/{device}, {NAMES[kind]} CUDA's packages", file=sys.stderr, flush=True)
        completed_process = subprocess.run(
            [*command, "--out", str(out), "--functions", *functions], cwd=ROOT, check=False
        )
        if completed_process.returncode != 0:
            sys.exit(f"check-stubs: {suite} on torch/{device} did not end, for the reason above; run it again to go on")
    return out


def _is_complete(bundle: Path) -> bool:
    return bundle.exists() and json.loads(bundle.read_text().splitlines()[-1])["type"] == "end"


def _outcomes(bundle: Path) -> Iterator[tuple[str, Compared]]:
    for line in map(json.loads, bundle.read_text().splitlines()):
        if line["type"] == "outcome":
            outcome = line["outcome"]
            fallbacks = tuple(sorted(outcome.get("proof", {}).get("fallbacks", ())))
            yield line["case"], (outcome["verdict"], outcome["ending"], outcome.get("placement", "unknown"), fallbacks)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
