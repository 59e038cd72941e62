"""Assertions about a framework's frozen suite ``library``: it can be read without the framework, is right on the CPU,
and is independent of ``paper``."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from coordinator.catalogue.coverage import coverage, sentence
from coordinator.catalogue.releases import shipped_release
from freezing.common.agreement import wrap
from freezing.common.kinds import LEAST_QUICK
from freezing.common.parts import LISTED, LISTED_VARIANTS
from freezing.common.samples import NO_ARRAY
from protocol.enums import GRADIENT, Ending, Verdict
from runners.suite.cases import Case, Function
from runners.suite.checks import EXACT, Mismatch, compare
from runners.suite.device import Device
from runners.suite.framework import Framework
from runners.suite.frozen import PACK, QUICK, VARIANTS_PACK, Pack
from tests.frameworks.common.mutants import Mutant, Wrong, clobber_input
from tests.frameworks.common.noticing import gradient_mutants, mutants
from tests.frameworks.common.running import run
from tests.frameworks.common.subject import Subject

PROJECT = Path(__file__).resolve().parents[3]
MOST_BYTES = 2_000_000
MOST_BYTES_OF_VARIANTS = 4_000_000
KINDS = {"empty", "0-dim", "broadcast", "strided", "plain"}


def folder_of(framework: Framework, suite: str = "library") -> Path:
    return PROJECT.joinpath(*framework.suites[suite].split("."))


def left_out_of(framework: Framework, suite: str = "library", file_name: str = LISTED) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((folder_of(framework, suite) / file_name).read_text())
    return read


def output_of(program: str, cwd: Path = PROJECT) -> str:
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=cwd)
    return ran.stdout


def assert_read_without_the_framework(framework: Framework, *others: str, suite: str = "library") -> None:
    """Check that the catalogue can be read without the framework, and without the packages that the framework
    installs."""
    module = framework.suites[suite]
    program = f"import sys; from {module} import FUNCTIONS; print(len(FUNCTIONS)); print(*sys.modules)"
    words = output_of(program).split()
    assert int(words[0]) > 0
    assert "numpy" in words
    assert not {framework.name, *others} & set(words)


def assert_covers(framework: Framework, *, least: float) -> None:
    """Check that ``library`` and ``paper`` cover at least this share of the certain uses of the release from which
    ``library`` was drawn."""
    version = Pack(folder_of(framework) / PACK).about[framework.name]
    suites = framework.load_suites()
    charted_names = {function.name for suite in ("library", "paper") for function in suites[suite].functions}
    coverage_figures = coverage("both", charted_names, shipped_release(f"{framework.name}@{version.partition('+')[0]}"))
    assert coverage_figures.uses is not None
    assert coverage_figures.uses.of > 10_000
    assert coverage_figures.uses.ratio is not None
    assert coverage_figures.uses.ratio >= least, sentence(coverage_figures)


def assert_apart_from_paper(framework: Framework, copy: Path) -> None:
    """Check that ``paper`` has the same revision in a copy without the library's suites."""
    for package in ("runners", "protocol"):
        shutil.copytree(PROJECT / package, copy / package, ignore=shutil.ignore_patterns("__pycache__"))
    home = copy / "runners" / framework.name
    shutil.rmtree(home / "suites" / "library")
    (home / "suites" / "library_quick.py").unlink()
    (home / "frozen.py").unlink()
    (copy / "runners" / "suite" / "frozen.py").unlink()
    program = (
        "import sys; sys.path.insert(0, '.'); from runners.suite.suites import load_suite; "
        f"print(load_suite('paper', {framework.suites['paper']!r}).revision)"
    )
    assert output_of(program, copy) == f"{framework.load_suites()['paper'].revision}\n"


def assert_small(framework: Framework, suite: str = "library") -> None:
    """Check that the files are small, and that one names the release from which the suite was drawn."""
    for name in (PACK, LISTED):
        assert (folder_of(framework, suite) / name).stat().st_size < MOST_BYTES
    assert str(Pack(folder_of(framework, suite) / PACK).about[framework.name]).count(".") == 2


def assert_small_variants(framework: Framework) -> None:
    """Check the same for variants. Their release is that of the cases from which they were made."""
    folder = folder_of(framework)
    assert (folder / VARIANTS_PACK).stat().st_size < MOST_BYTES_OF_VARIANTS
    assert (folder / LISTED_VARIANTS).stat().st_size < MOST_BYTES
    releases = [Pack(folder / name).about[framework.name] for name in (VARIANTS_PACK, PACK)]
    assert releases[0] == releases[1]


def assert_says_what_judged(functions: Sequence[Function]) -> None:
    """Check that a result is judged by one reference or by its form, and an expected error by neither."""
    for function in functions:
        for case in function.cases:
            judges = [tag for tag in case.tags if tag.startswith("judged-by-") or tag == "form-only"]
            assert len(judges) == (0 if case.refuses else 1), case.id
            assert (case.kind == "value") is (judges not in (["form-only"], [])), case.id
            assert (KINDS | {NO_ARRAY}) & set(case.tags), case.id


def assert_reasons_are_counted(left_out: dict[str, Any]) -> None:
    counts = {
        reason: sum(names if isinstance(names, int) else len(names) for names in owners.values())
        for reason, owners in left_out["left_out"].items()
    }
    assert set(counts) == set(left_out["counts"])
    for reason, count in counts.items():
        # Two operators of one name may have samples of one name: those stand in one line.
        assert 0 < count <= left_out["counts"][reason], reason


def assert_quick_meets_every_kind(framework: Framework) -> None:
    functions = framework.load_suites()["library"].functions
    quick = framework.load_suites()["library_quick"]
    assert [function.name for function in quick.functions] == [function.name for function in functions]
    assert len(quick.cases) < sum(len(function.cases) for function in functions)
    met: dict[str, set[str]] = defaultdict(set)
    for case in quick.cases:
        met[case.function] |= set(case.tags)
    missing_kinds = [
        (function.name, tag)
        for function in functions
        for tag in KINDS & {tag for case in function.cases for tag in case.tags}
        if tag not in met[function.name] and len([case for case in function.cases if QUICK in case.tags]) < LEAST_QUICK
    ]
    assert missing_kinds == []


def assert_noticed(cpu: Device, cases: Sequence[Case], subject: Subject, *, least: float) -> None:
    """Check that at least this share of all effective mutants of the functions fails these cases."""
    mutant_count, survivors = 0, []
    for case in cases:
        for name, has_survived in wrong_outcomes(cpu, case, subject):
            mutant_count += 1
            if has_survived:
                survivors.append((case.id, name))
    assert mutant_count > len(cases)
    assert len(survivors) <= (1 - least) * mutant_count, (mutant_count, survivors)


def wrong_outcomes(cpu: Device, case: Case, subject: Subject) -> list[tuple[str, bool]]:
    """Yield the mutants that affect a case, and whether the case passes nevertheless.

    For a case that returns gradients, a mutant counts only if it changes a gradient. Integer results have no gradient,
    and where a function saturates, right and wrong values both have the gradient 0.
    """
    outcomes = []
    for mutant in _mutants_of(case, subject):
        wrong = cast(Device, Wrong(cpu, mutant, subject.wrapper_of))
        outcome = run(wrong, case)
        assert outcome.ending is not Ending.harness_failed, outcome.evidence
        has_survived = outcome.verdict is Verdict.passed
        if mutant.applied and not (GRADIENT in case.tags and has_survived and _return_same(cpu, wrong, case)):
            outcomes.append((mutant.name, has_survived))
    return outcomes


def _return_same(one: Device, other: Device, case: Case) -> bool:
    """Whether a case returns the same values on two devices. NaN counts as equal to NaN."""
    try:
        compare(_result(one, case), wrap(_result(other, case)), case.dtype, EXACT)
    except Mismatch:
        return False
    return True


def _result(device: Device, case: Case) -> Any:
    """The host copy of the result of a case."""
    results = []

    def keep(result: Any, *_: Any, **__: Any) -> None:
        results.append(result)

    run(device, replace(case, check=keep))
    return results[0]


def _mutants_of(case: Case, subject: Subject) -> Iterator[Mutant]:
    if GRADIENT in case.tags:
        yield from gradient_mutants(subject.arrays, subject.dialect)
    else:
        yield from mutants(subject.arrays)
    if not case.in_place:
        yield clobber_input(subject.arrays)
