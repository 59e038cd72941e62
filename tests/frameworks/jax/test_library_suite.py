"""JAX's suite ``library``: the tests of every such suite, and that its names are those of the catalogue."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from runners.jax import FRAMEWORK
from runners.jax.frozen import resolved
from runners.suite.cases import Function
from runners.suite.device import Device
from runners.suite.frozen import PACK, Named, Pack
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
def public() -> dict[str, list[str]]:
    """The canonical names in the release from which the suite was drawn, and the aliases of each."""
    version = Pack(library.folder_of(FRAMEWORK) / PACK).about["jax"]
    with gzip.open(SURFACES / f"jax-{version}.ndjson.gz", "rt", encoding="utf-8") as file:
        _, *entries = map(json.loads, file)
    return {entry["name"]: entry["aliases"] for entry in entries}


def test_the_catalogue_is_read_without_jax() -> None:
    library.assert_read_without_the_framework(FRAMEWORK)


def test_what_people_call_is_charted() -> None:
    library.assert_covers(FRAMEWORK, least=0.90)


def test_the_revision_of_paper_does_not_depend_on_it(tmp_path: Path) -> None:
    library.assert_apart_from_paper(FRAMEWORK, tmp_path)


def test_the_file_is_small_and_names_its_jax() -> None:
    library.assert_small(FRAMEWORK)


def test_it_charts_hundreds_of_functions_by_their_canonical_names(
    functions: list[Function], public: dict[str, list[str]]
) -> None:
    names = [function.name for function in functions]
    assert len(names) == len(set(names))
    assert len(names) >= 550
    # A surface lists no special methods: Python's operators call them, and users do not.
    plain_names = {name for name in names if not name.rpartition(".")[2].startswith("__")}
    assert sorted(plain_names - set(public)) == []


def test_every_public_name_of_its_modules_is_charted_or_left_out(
    functions: list[Function], public: dict[str, list[str]]
) -> None:
    left_out = library.left_out_of(FRAMEWORK)["left_out"]
    names = {function.name for function in functions} | {owner for owners in left_out.values() for owner in owners}
    modules = ("jax.lax.", "jax.numpy.", "jax.nn.", "jax.scipy.", "jax.random.", "jax.Array.")
    assert [name for name in public if name.startswith(modules) and name not in names] == []


def test_every_case_says_what_judged_it(functions: list[Function]) -> None:
    library.assert_says_what_judged(functions)


def test_what_is_left_out_is_counted_by_its_reason() -> None:
    library.assert_reasons_are_counted(library.left_out_of(FRAMEWORK))


def test_the_quick_form_meets_every_kind_of_a_functions_inputs() -> None:
    library.assert_quick_meets_every_kind(FRAMEWORK)


def test_a_method_of_an_array_is_that_of_the_array_itself(cpu: Device) -> None:
    import numpy as np

    (array,) = cpu.to_device([np.arange(6.0).reshape(2, 3)], "float32")
    assert cpu.to_host(cpu.lookup("jax.Array.sum")(array, axis=1)).values.tolist() == [3.0, 12.0]


@pytest.mark.parametrize(
    ("kind", "name", "text"),
    [
        ("dtype", "bfloat16", "bfloat16"),
        ("public", "jax.lax.GatherScatterMode.CLIP", "GatherScatterMode.CLIP"),
        ("made", '{"class": "jax.lax.GatherDimensionNumbers", "fields": {"offset_dims": [0]', None),
    ],
)
def test_a_named_value_is_an_object_of_jaxs(kind: str, name: str, text: str | None) -> None:
    if text is None:
        name += ', "collapsed_slice_dims": [1], "start_index_map": [1]}}'
        assert resolved(Named(kind, name), None).collapsed_slice_dims == (1,)
    else:
        assert str(resolved(Named(kind, name), None)) == text
