"""The suite ``library``: read without TensorFlow, public names alone, right on the CPU, and noticing what is wrong."""

from __future__ import annotations

import gzip
import json
import os
import random
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any, cast

import pytest
from arrays import ARRAYS
from wrappers import wrapper_of

from protocol.enums import Ending, Verdict
from runners.errors import UnfreezableError
from runners.suite.cases import Case, Function
from runners.suite.device import Device
from runners.suite.frozen import PACK, QUICK, Pack
from runners.tensorflow import FRAMEWORK
from runners.tensorflow.frozen import FrozenCall
from tests.framework.mutants import Mutant, Wrong
from tests.framework.noticing import mutants
from tests.framework.running import run

PROJECT = Path(__file__).resolve().parents[2]
FOLDER = PROJECT / "runners" / "tensorflow" / "suites" / "library"
SURFACES = PROJECT / "coordinator" / "catalogue" / "data" / "surfaces"
MOST_BYTES = 2_000_000
DRAWN = 40
MUTATED = 40
LEAST_NOTICED = 0.95


@pytest.fixture(scope="module")
def functions() -> list[Function]:
    return list(FRAMEWORK.load_suites()["library"].functions)


@pytest.fixture(scope="module")
def left_out() -> dict[str, Any]:
    read: dict[str, Any] = json.loads((FOLDER / "left_out.json").read_text())
    return read


@pytest.fixture(scope="module")
def public() -> dict[str, list[str]]:
    """The canonical names of the catalogue's functions, and the aliases of each."""
    (surface,) = SURFACES.glob("tensorflow-*.ndjson.gz")
    header, *entries = map(json.loads, gzip.decompress(surface.read_bytes()).decode().splitlines())
    assert header["version"] == Pack(FOLDER / PACK).about["tensorflow"]
    return {entry["name"]: entry["aliases"] for entry in entries if entry["kind"] == "function"}


def printed(program: str, cwd: Path = PROJECT) -> str:
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=cwd)
    return ran.stdout


def test_the_catalogue_is_read_without_tensorflow() -> None:
    loaded = printed(
        "import sys; from runners.tensorflow.suites import library; print(len(library.FUNCTIONS)); print(*sys.modules)"
    ).split()
    assert int(loaded[0]) > 0
    assert "numpy" in loaded
    assert not {"tensorflow", "keras"} & set(loaded)


def test_the_revision_of_paper_does_not_depend_on_it(tmp_path: Path) -> None:
    """The same where the library's suites do not exist: in a copy of our packages without them."""
    for package in ("runners", "protocol"):
        shutil.copytree(PROJECT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    home = tmp_path / "runners" / "tensorflow"
    shutil.rmtree(home / "suites" / "library")
    for file in (
        home / "suites" / "library_quick.py",
        home / "frozen.py",
        tmp_path / "runners" / "suite" / "frozen.py",
    ):
        file.unlink()
    program = (
        "import sys; sys.path.insert(0, '.'); from runners.suite.suites import load_suite; "
        "print(load_suite('paper', 'runners.tensorflow.suites.paper').revision)"
    )
    assert printed(program, tmp_path) == f"{FRAMEWORK.load_suites()['paper'].revision}\n"


def test_the_files_are_small() -> None:
    assert (FOLDER / PACK).stat().st_size < MOST_BYTES
    assert (FOLDER / "left_out.json").stat().st_size < MOST_BYTES


def test_it_charts_public_functions_each_once(functions: list[Function], public: dict[str, list[str]]) -> None:
    names = [function.name for function in functions]
    assert len(names) == len(set(names))
    assert len(names) >= 400
    assert set(names) <= set(public), "a name that is not canonical, or not public"


def test_every_public_function_is_charted_or_left_out_with_a_reason(
    functions: list[Function], left_out: dict[str, Any], public: dict[str, list[str]]
) -> None:
    told = {function.name for function in functions}
    for owners in left_out["left_out"].values():
        for owner, samples in owners.items():
            told |= {owner} if isinstance(samples, int) else {owner, *(f"{owner}.{sample}" for sample in samples)}
    assert sorted(set(public) - told) == []


def test_what_is_left_out_is_counted_by_its_reason(left_out: dict[str, Any]) -> None:
    counted = {
        reason: sum(found if isinstance(found, int) else len(found) for found in owners.values())
        for reason, owners in left_out["left_out"].items()
    }
    assert set(counted) == set(left_out["counts"])
    for reason, count in counted.items():
        # Samples of one function that differ in their second dtype alone may have one name: those stand in one line.
        assert 0 < count <= left_out["counts"][reason], reason


def test_every_case_says_what_judged_it(functions: list[Function]) -> None:
    judges: Counter[str] = Counter()
    for case in (case for function in functions for case in function.cases):
        own = [tag for tag in case.tags if tag.startswith("judged-by-") or tag == "form-only"]
        assert len(own) == 1, case.id
        assert (case.kind == "value") is (own != ["form-only"]), case.id
        judges.update(own)
    assert set(judges) == {"judged-by-numpy", "judged-by-float64", "judged-by-itself", "form-only"}


def test_the_quick_form_has_cases_of_every_function(functions: list[Function]) -> None:
    quick = FRAMEWORK.load_suites()["library_quick"]
    assert [function.name for function in quick.functions] == [function.name for function in functions]
    assert all(1 <= len(function.cases) <= 4 for function in quick.functions)
    assert all(QUICK in case.tags for case in quick.cases)


def test_a_drawn_sample_is_right_on_the_cpu(cpu: Device, functions: list[Function]) -> None:
    seed = random.SystemRandom().randrange(10**6)
    print(f"drawn with seed {seed}")
    for function in random.Random(seed).sample(functions, DRAWN):
        for case in function.cases:
            outcome = run(cpu, case)
            assert outcome.ending is Ending.returned, (seed, case.id, outcome.evidence)
            assert outcome.verdict is Verdict.passed, (seed, case.id, outcome.evidence)


def test_mutants_of_a_drawn_sample_are_noticed(cpu: Device, functions: list[Function]) -> None:
    """Of the mutants that come to bear: where a result has no element there is nothing to get wrong."""
    seed = random.SystemRandom().randrange(10**6)
    print(f"drawn with seed {seed}")
    values = [case for function in functions for case in function.cases if case.kind == "value"]
    if os.environ.get("PORTOLAN_MUTANTS") != "whole":
        values = random.Random(seed).sample(values, MUTATED)
    applied, missed = 0, []
    for case in values:
        for mutant in mutants(ARRAYS):
            if _survives(cpu, case, mutant):
                missed.append((case.id, mutant.name))
            applied += mutant.applied
    assert applied > len(values)
    assert len(missed) <= (1 - LEAST_NOTICED) * applied, (seed, missed)


def _survives(cpu: Device, case: Case, mutant: Mutant) -> bool:
    outcome = run(cast(Device, Wrong(cpu, mutant, wrapper_of)), case)
    return mutant.applied and outcome.verdict is Verdict.passed


def test_an_array_of_another_dtype_than_the_device_gives_is_refused() -> None:
    call = FrozenCall('{"tuple":[[{"array":0,"dtype":"int8"}],{"mapping":[]}]}')
    with pytest.raises(UnfreezableError, match="no other dtype"):
        call.arguments([None])
