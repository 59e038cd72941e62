"""The search for elements that the CPU gets wrong, with a function of NumPy in torch's place."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from freezing.common.agreement import Reference
from freezing.common.gate import Arguments, GatedFunction
from freezing.common.samples import Sample
from freezing.torch import wrong_on_host
from freezing.torch.wrong_on_host import DIFFERS, search, swept_numbers
from protocol.enums import WRONG_ON_HOST
from runners.suite.checks import Leaf, Tolerance
from runners.suite.frozen import PackWriter
from runners.suite.trees import mapped

Formula = Callable[[Any], Any]


class Arrays:
    """NumPy as the device of the host."""

    def to_device(self, tree: Any, dtype: str) -> Any:
        return [np.asarray(array, dtype) for array in tree]

    def to_host(self, tree: Any) -> Any:
        return mapped(tree, lambda array: Leaf(array, str(array.dtype), "cpu"), (np.ndarray,))


class Judged(GatedFunction):
    """A function of one array, with an independent reference."""

    def __init__(self, function: Formula, reference: Formula, name: str = "torch.sinc") -> None:
        super().__init__(name, function, Arrays())  # type: ignore[arg-type]
        self.in_place = name.endswith("_")
        self._reference = reference

    def arguments(self, call: str, arrays: Sequence[Any]) -> Arguments:
        return [arrays[0]], {}

    def tolerance(self, dtype: str, result: Any) -> Tolerance:
        return Tolerance(1e-5, 1e-5)

    def references(self, dtype: str, fresh: Callable[[], Arguments]) -> Iterator[tuple[str, Reference]]:
        yield "itself", lambda: [self.call(*fresh()[0])]
        yield "numpy", lambda: [self._reference(np.asarray(fresh()[0][0], np.float64))]


def infinite_above_100(array: Any) -> Any:
    return np.where(array > 100, np.float32(np.inf), array / 2)


def half(array: Any) -> Any:
    return array / 2


def search_in(subject: Judged) -> tuple[PackWriter, list[dict[str, Any]], list[tuple[str, str, str]]]:
    pack = PackWriter()
    digest = pack.add(np.array([1, 2, 3, 4], np.float32), "float32")
    call = json.dumps({"tuple": [[{"array": 0}], {"mapping": []}]})
    base = Sample("float32-0", "float32", call, (digest,), ("plain", "real"), 4)
    return pack, *search(subject, [(base, [])], pack)


def test_a_reviewed_function_gets_a_case_of_its_wrong_elements_alone() -> None:
    pack, (case,), left_out = search_in(Judged(infinite_above_100, half))
    assert left_out == []
    values, results = pack.array(case["arrays"][0]), pack.array(case["expected"][0])
    assert values.shape == (4,)
    assert (values > 100).all()
    np.testing.assert_allclose(results, values / 2)
    assert case["name"] == "float32-0-swept-wrong"
    assert case["tags"] == ["plain", "real", "tails", "judged-by-numpy", WRONG_ON_HOST]
    assert "in_place" not in case


def test_a_method_in_place_may_change_its_array() -> None:
    _, (case,), _ = search_in(Judged(infinite_above_100, half, "torch.Tensor.sinc_"))
    assert case["in_place"] == [0]
    assert "changes-inputs" in case["tags"]


def test_an_unreviewed_function_is_listed_with_both_values() -> None:
    _, cases, left_out = search_in(Judged(infinite_above_100, half, "torch.add"))
    assert cases == []
    assert [reason for _, reason, _ in left_out] == [DIFFERS]
    assert ", and the CPU inf" in left_out[0][2]


@pytest.mark.parametrize("function", [half, lambda array: array / 2 * (1 + 1e-4)])
def test_a_right_or_nearly_right_function_has_no_wrong_elements(function: Formula) -> None:
    assert search_in(Judged(function, half))[1:] == ([], [])


def test_an_element_whose_last_digits_decide_its_result_is_not_wrong() -> None:
    """The reference itself jumps between neighboring inputs."""

    def parity(array: Any) -> Any:
        return np.asarray(array, np.float32).view(np.int32) % 2 * 1000.0

    assert search_in(Judged(lambda array: array * 0, parity))[1:] == ([], [])


def test_a_function_whose_elements_depend_on_each_other_is_wrong_only_if_its_few_elements_are() -> None:
    """Of thousands of numbers the sum is infinite. Of four it is not."""

    def depend_on_size(array: Any) -> Any:
        return array / 2 if array.size < 10 else array * np.float32(np.inf)

    assert search_in(Judged(depend_on_size, half))[1:] == ([], [])


def test_exponentials_become_infinite_among_the_swept_numbers() -> None:
    numbers = swept_numbers("float32")
    assert ((numbers > 88.73) & (numbers < 89.4)).sum() > 10
    assert np.isfinite(numbers).all()


def test_reviewed_functions_have_public_names() -> None:
    for names in wrong_on_host.WRONG_FUNCTIONS.values():
        assert all(name.startswith("torch.") for name in names)
