"""The suite ``library``: read without torch, right on the CPU, apart from ``paper``; and what it leaves out."""

from __future__ import annotations

import dataclasses
import json
import random
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from protocol.enums import Ending, Verdict
from runners.suite.cases import Case, Function
from runners.suite.device import Device
from runners.suite.frozen import PACK, QUICK, Pack
from runners.torch import FRAMEWORK
from runners.torch.freezing.references import looked_up
from runners.torch.frozen import strided
from tests.framework.running import run

PROJECT = Path(__file__).resolve().parents[2]
FOLDER = PROJECT / "runners" / "torch" / "suites" / "library"
MOST_BYTES = 2_000_000
DRAWN = 12
KINDS = {"empty", "0-dim", "broadcast", "strided", "plain"}


@pytest.fixture(scope="module")
def functions() -> list[Function]:
    return list(FRAMEWORK.load_suites()["library"].functions)


@pytest.fixture(scope="module")
def left_out() -> dict[str, Any]:
    read: dict[str, Any] = json.loads((FOLDER / "left_out.json").read_text())
    return read


def printed(program: str, cwd: Path = PROJECT) -> str:
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=cwd)
    return ran.stdout


def test_the_catalogue_is_read_without_torch() -> None:
    loaded = printed(
        "import sys; from runners.torch.suites.library import FUNCTIONS; print(len(FUNCTIONS)); print(*sys.modules)"
    ).split()
    assert int(loaded[0]) > 0
    assert "numpy" in loaded
    assert "torch" not in loaded


def test_the_revision_of_paper_does_not_depend_on_it(tmp_path: Path) -> None:
    """The same where the library's suites do not exist: in a copy of our packages without them."""
    for package in ("runners", "protocol"):
        shutil.copytree(PROJECT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.rmtree(tmp_path / "runners" / "torch" / "suites" / "library")
    (tmp_path / "runners" / "torch" / "suites" / "library_quick.py").unlink()
    (tmp_path / "runners" / "torch" / "frozen.py").unlink()
    (tmp_path / "runners" / "suite" / "frozen.py").unlink()
    program = (
        "import sys; sys.path.insert(0, '.'); from runners.suite.suites import load_suite; "
        "print(load_suite('paper', 'runners.torch.suites.paper').revision)"
    )
    assert printed(program, tmp_path) == f"{FRAMEWORK.load_suites()['paper'].revision}\n"


def test_the_file_is_small_and_names_its_torch() -> None:
    assert (FOLDER / PACK).stat().st_size < MOST_BYTES
    assert str(Pack(FOLDER / PACK).about["torch"]).count(".") == 2


def test_it_charts_hundreds_of_functions_each_once(functions: list[Function]) -> None:
    names = [function.name for function in functions]
    assert len(names) == len(set(names))
    assert len(names) >= 700
    assert sum(name.startswith("torch.Tensor.") for name in names) >= 350


def test_every_case_says_what_judged_it(functions: list[Function]) -> None:
    for function in functions:
        for case in function.cases:
            judges = [tag for tag in case.tags if tag.startswith("judged-by-") or tag == "form-only"]
            assert len(judges) == 1, case.id
            assert (case.kind == "value") is (judges != ["form-only"]), case.id


def test_what_is_left_out_is_counted_by_its_reason(left_out: dict[str, Any]) -> None:
    counted = {
        reason: sum(found if isinstance(found, int) else len(found) for found in owners.values())
        for reason, owners in left_out["left_out"].items()
    }
    assert set(counted) == set(left_out["counts"])
    for reason, count in counted.items():
        # Two operators of one name may have samples of one name: those stand in one line.
        assert 0 < count <= left_out["counts"][reason], reason


def test_no_alias_is_charted_beside_its_function(functions: list[Function], left_out: dict[str, Any]) -> None:
    names = {function.name for function in functions}
    own = {owner for owner in left_out["left_out"]["an alias"] if f"torch.{owner}" in names}
    for owner in own:
        for alias in left_out["left_out"]["an alias"][owner]:
            both = looked_up(torch, alias) is looked_up(torch, owner) is not None
            assert not (both and f"torch.{alias}" in names), alias


def test_the_quick_form_meets_every_kind_of_a_functions_inputs(functions: list[Function]) -> None:
    quick = FRAMEWORK.load_suites()["library_quick"]
    assert [function.name for function in quick.functions] == [function.name for function in functions]
    assert len(quick.cases) < 0.65 * sum(len(function.cases) for function in functions)
    met: dict[str, set[str]] = defaultdict(set)
    for case in quick.cases:
        met[case.function] |= set(case.tags)
    missed = [
        (function.name, tag)
        for function in functions
        for tag in KINDS & {tag for case in function.cases for tag in case.tags}
        if tag not in met[function.name] and len([case for case in function.cases if QUICK in case.tags]) < 4
    ]
    assert missed == []


def test_a_drawn_sample_is_right_on_the_cpu(cpu: Device, functions: list[Function]) -> None:
    seed = random.SystemRandom().randrange(10**6)
    print(f"drawn with seed {seed}")
    for function in random.Random(seed).sample(functions, DRAWN):
        for case in function.cases:
            outcome = run(cpu, case)
            assert outcome.ending is Ending.returned, (seed, case.id, outcome.evidence)


def one_off(function: Callable[..., Any]) -> Callable[..., Any]:
    def wrong(*arguments: Any, **options: Any) -> Any:
        result = function(*arguments, **options).clone()
        result.reshape(-1)[0] += 1
        return result

    return wrong


def of_another_dtype(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *arguments, **options: function(*arguments, **options).to(torch.float64)


def without_options(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *arguments, **options: function(arguments[0])


def changing_its_input(function: Callable[..., Any]) -> Callable[..., Any]:
    def wrong(*arguments: Any, **options: Any) -> Any:
        result = function(*arguments, **options).clone()
        arguments[0].zero_()
        return result

    return wrong


PLANTED: list[tuple[str, Callable[..., Any]]] = [
    ("torch.add", one_off),
    ("torch.Tensor.mul", one_off),
    ("torch.nn.functional.relu", of_another_dtype),
    ("torch.sum", without_options),
    ("torch.exp", changing_its_input),
]


@pytest.mark.parametrize(("name", "plant"), PLANTED, ids=[f"{plant.__name__}-{name}" for name, plant in PLANTED])
def test_a_planted_wrong_function_is_noticed(
    cpu: Device, functions: list[Function], name: str, plant: Callable[..., Any]
) -> None:
    function = next(function for function in functions if function.name == name)
    wrong = plant(cpu.lookup(name))
    verdicts = [run(cpu, dataclasses.replace(case, given=wrong)).verdict for case in _filled(function)]
    assert Verdict.failed in verdicts


def _filled(function: Function) -> list[Case]:
    """The cases in float32 whose inputs have elements."""
    return [case for case in function.cases if case.dtype == "float32" and "empty" not in case.tags]


@pytest.mark.parametrize(
    ("shape", "strides"),
    [((2, 3), (1, 2)), ((2, 3), (3, 1)), ((4,), (2,)), ((2, 3), (0, 1)), ((0, 3), (3, 1)), ((), ())],
)
def test_an_array_is_laid_out_with_its_strides(shape: tuple[int, ...], strides: tuple[int, ...]) -> None:
    values = torch.arange(6.0)[: max(1, torch.Size(shape).numel())]
    given = values[: torch.Size(shape).numel()].reshape(shape) if 0 not in strides else values[:3].expand(shape)
    found = strided(given, strides)
    assert torch.equal(found, given)
    assert found.numel() == 0 or found.stride() == strides
