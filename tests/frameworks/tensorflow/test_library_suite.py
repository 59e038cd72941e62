"""The suite ``library`` can be read without TensorFlow, has only public names, is right on the CPU, and detects
errors."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from freezing.tensorflow.definitions import SORTED, definition_of
from runners.errors import UnfreezableError
from runners.suite.cases import Function
from runners.suite.device import Device
from runners.suite.frozen import PACK, QUICK, Pack, decode
from runners.tensorflow import FRAMEWORK
from runners.tensorflow.frozen import FrozenCall
from runners.tensorflow.suites.library import FUNCTIONS as FROZEN
from runners.tensorflow.suites.library import other_names
from tests.frameworks.common import library
from tests.frameworks.common.library_claims import (
    test_every_case_is_right_on_the_cpu,
    test_wrong_functions_are_noticed,
)

SURFACES = library.PROJECT / "coordinator" / "catalogue" / "data" / "surfaces"


@pytest.fixture(scope="module")
def functions() -> list[Function]:
    return list(FRAMEWORK.load_suites()["library"].functions)


@pytest.fixture(scope="module")
def left_out() -> dict[str, Any]:
    return library.left_out_of(FRAMEWORK)


@pytest.fixture(scope="module")
def surface() -> dict[str, dict[str, Any]]:
    """The catalogue's entries by each of their names."""
    (file,) = SURFACES.glob("tensorflow-*.ndjson.gz")
    header, *entries = map(json.loads, gzip.decompress(file.read_bytes()).decode().splitlines())
    assert header["version"] == Pack(library.folder_of(FRAMEWORK) / PACK).about["tensorflow"]
    return {name: entry for entry in entries for name in (entry["name"], *entry["aliases"])}


@pytest.fixture(scope="module")
def public(surface: dict[str, dict[str, Any]]) -> set[str]:
    """The canonical names of the catalogue's functions."""
    return {entry["name"] for entry in surface.values() if entry["kind"] == "function"}


def test_the_catalogue_is_read_without_tensorflow() -> None:
    library.assert_read_without_the_framework(FRAMEWORK, "keras")


def test_what_people_call_is_charted() -> None:
    library.assert_covers(FRAMEWORK, least=0.88)


def test_the_revision_of_paper_does_not_depend_on_it(tmp_path: Path) -> None:
    library.assert_apart_from_paper(FRAMEWORK, tmp_path)


def test_the_files_are_small() -> None:
    library.assert_small(FRAMEWORK)
    library.assert_small_variants(FRAMEWORK)


def test_it_charts_each_name_once(functions: list[Function]) -> None:
    names = [function.name for function in functions]
    assert len(names) == len(set(names))
    assert len(names) >= 400


def test_frozen_functions_have_their_canonical_names(public: set[str]) -> None:
    assert {function.name for function in FROZEN} <= public


def test_functions_by_hand_have_public_names(functions: list[Function], surface: dict[str, dict[str, Any]]) -> None:
    """A method may have the name of a class that inherits it."""

    def bases(name: str) -> list[str]:
        owner, _, member = name.rpartition(".")
        return [f"{base}.{member}" for base in surface.get(owner, {}).get("bases", [])]

    names = {function.name for function in functions} - {function.name for function in FROZEN}
    assert sorted(name for name in names if not {name, *bases(name)} & surface.keys()) == []


def test_other_names_are_of_the_same_objects(cpu: Device, surface: dict[str, dict[str, Any]]) -> None:
    for function, names in other_names.NAMES.items():
        for name in names:
            assert surface[name]["name"] == function, name
            assert cpu.lookup(name) is cpu.lookup(function), name


def test_every_public_function_is_charted_or_left_out_with_a_reason(
    functions: list[Function], left_out: dict[str, Any], public: set[str]
) -> None:
    names = {function.name for function in functions}
    for owners in left_out["left_out"].values():
        for owner, samples in owners.items():
            names |= {owner} if isinstance(samples, int) else {owner, *(f"{owner}.{sample}" for sample in samples)}
    assert sorted(public - names) == []


def test_what_is_left_out_is_counted_by_its_reason(left_out: dict[str, Any]) -> None:
    library.assert_reasons_are_counted(left_out)


def test_every_case_says_what_judged_it(functions: list[Function]) -> None:
    library.assert_says_what_judged(functions)
    tags = {tag for function in functions for case in function.cases for tag in case.tags}
    judges = {tag for tag in tags if tag.startswith("judged-by-") or tag == "form-only"}
    by_value = {"judged-by-numpy", "judged-by-differences", "judged-by-float64", "judged-by-itself"}
    assert judges == {*by_value, "form-only"}


def test_the_quick_form_has_cases_of_every_function(functions: list[Function]) -> None:
    quick = FRAMEWORK.load_suites()["library_quick"]
    assert [function.name for function in quick.functions] == [function.name for function in functions]
    for function, own in zip(functions, quick.functions, strict=True):
        assert 1 <= len(own.cases) <= max(4, len(function.cases) // 2 + 4), function.name
    assert all(QUICK in case.tags for case in quick.cases)


def test_an_array_of_another_dtype_than_the_device_gives_is_refused() -> None:
    call = FrozenCall('{"tuple":[[{"array":0,"dtype":"int8"}],{"mapping":[]}]}')
    with pytest.raises(UnfreezableError, match="no other dtype"):
        call.parts([None])


def test_inputs_that_an_operation_wants_in_order_are() -> None:
    pack = Pack(library.folder_of(FRAMEWORK) / PACK)
    checks = 0
    for case in pack.cases:
        definition = definition_of(case["function"])
        names = (
            [argument.name for argument in definition.input_arg if argument.name.startswith(SORTED)]
            if definition
            else []
        )
        for name in names:
            _, options = decode(
                json.loads(case["call"]), lambda slot, case=case: pack.array(case["arrays"][slot.number])
            )
            assert (np.diff(options[name]) >= 0).all(), case
            checks += 1
    assert checks
