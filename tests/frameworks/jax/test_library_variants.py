"""Cases of the suite ``library`` that are no plain calls: compiled, differentiated, with extreme values, and wrong on
the CPU."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from freezing.common.agreement import Reference
from freezing.common.gate import Arguments, GatedFunction
from freezing.common.samples import Sample
from freezing.common.variants import LARGE_ELEMENTS, SIZED_LARGE, SIZED_ODD, TAILS
from freezing.jax.variants import DTYPES, NUMBERS, SMALL_DTYPES, freeze_function, kinds_of_variant
from protocol.enums import GRADIENT, WRONG_ON_HOST, Ending
from runners.jax import FRAMEWORK
from runners.jax.frozen import FrozenCall, program
from runners.jax.ways import JIT, SECOND_ORDER
from runners.suite.cases import Case
from runners.suite.checks import Tolerance
from runners.suite.device import Device
from runners.suite.frozen import PACK, QUICK, VARIANTS_PACK, Pack, PackWriter, packs_in
from tests.frameworks.common.library import folder_of, wrong_outcomes
from tests.frameworks.common.running import run
from tests.frameworks.common.subject import Subject

MOST_BYTES = 3_000_000
LEAST = 600
"""The number of functions with each kind of case. There are more such functions than these."""
LEAST_LARGE = 350
"""The same for large arrays, which fewer functions have."""
LEAST_NUMBER_FUNCTIONS = 80
"""The same for other integers in the call, which few calls have."""
LEAST_SECOND_ORDER = 250
"""The same for second derivatives. Those of other functions are zero."""
LEAST_SMALL = 500
"""The same for variants in 16 bits and in small integers."""


@pytest.fixture(scope="module")
def with_tag() -> Callable[[str], list[Case]]:
    cases = [case for function in FRAMEWORK.load_suites()["library"].functions for case in function.cases]
    return lambda tag: [case for case in cases if tag in case.tags]


@pytest.mark.parametrize(("tag", "least"), [
    (GRADIENT, LEAST), (JIT, LEAST), (TAILS, LEAST), (SECOND_ORDER, LEAST_SECOND_ORDER),
])  # fmt: skip
def test_it_charts_gradients_and_compiled_calls(with_tag: Callable[[str], list[Case]], tag: str, least: int) -> None:
    assert len({case.function for case in with_tag(tag)}) >= least


def test_gradients_are_judged_by_values_alone(with_tag: Callable[[str], list[Case]]) -> None:
    judges = {tag for case in with_tag(GRADIENT) for tag in case.tags if tag.startswith("judged-by-")}
    assert judges == {"judged-by-differences", "judged-by-float64"}
    assert {case.kind for case in with_tag(GRADIENT)} == {"value"}


def test_no_gradient_is_zero_within_its_tolerance(with_tag: Callable[[str], list[Case]]) -> None:
    """A gradient that is zero within its tolerance would not show a wrong factor."""
    for case in with_tag(GRADIENT):
        assert case.reference is not None
        gradients = [leaf.values for leaf in case.reference()]
        assert not all((abs(gradient) <= case.tolerance.absolute).all() for gradient in gradients), case.id


def test_a_case_of_a_large_array_has_over_100_000_elements(with_tag: Callable[[str], list[Case]]) -> None:
    packs = packs_in(folder_of(FRAMEWORK))
    cases = [case for case in packs.cases if SIZED_LARGE in case["tags"]]
    assert len(cases) == len(with_tag(SIZED_LARGE)) >= LEAST_LARGE
    for case in cases:
        assert max(packs.array(digest).size for digest in case["arrays"]) > LARGE_ELEMENTS, case["name"]


def test_functions_with_integers_in_their_calls_are_called_with_others(
    cpu: Device, with_tag: Callable[[str], list[Case]]
) -> None:
    cases_with_numbers = [case for case in with_tag(SIZED_ODD) if case.id.endswith(("-numbers-odd", "-shapes-odd"))]
    assert len({case.function for case in cases_with_numbers}) >= LEAST_NUMBER_FUNCTIONS
    (case,) = [case for case in cases_with_numbers if case.id == "jax.image.resize/float32-0-shapes-odd"]
    assert run(cpu, case).ending is Ending.returned


def test_other_integers_are_a_kind_of_their_own() -> None:
    assert kinds_of_variant({"name": "float32-0-numbers-odd", "tags": [SIZED_ODD], "dtype": "float32"}) == {NUMBERS}
    assert kinds_of_variant({"name": "float32-0-sized-odd", "tags": [SIZED_ODD], "dtype": "float32"}) == {SIZED_ODD}


def test_hundreds_of_functions_have_variants_in_other_dtypes() -> None:
    cases = Pack(folder_of(FRAMEWORK) / VARIANTS_PACK).cases
    assert len({case["function"] for case in cases if case["dtype"] in SMALL_DTYPES}) >= LEAST_SMALL


@pytest.mark.parametrize("kind", [SIZED_LARGE, DTYPES])
def test_a_variant_is_drawn_again_as_it_was(kind: str, tmp_path: Path) -> None:
    name = "jax.numpy.sqrt"
    freeze_function([kind], Pack(folder_of(FRAMEWORK) / PACK), name, tmp_path / "0000.npz")
    new_cases = Pack(tmp_path / "0000.npz").cases
    assert new_cases
    cases = Pack(folder_of(FRAMEWORK) / VARIANTS_PACK).cases
    frozen_cases = {case["name"]: case for case in cases if case["function"] == name}
    for new_case in new_cases:
        frozen_case = frozen_cases[new_case["name"]]
        # The tag "quick" is chosen when the parts are added to the suite.
        assert new_case == {**frozen_case, "tags": [tag for tag in frozen_case["tags"] if tag != QUICK]}


def test_the_file_of_variants_is_small() -> None:
    assert (folder_of(FRAMEWORK) / VARIANTS_PACK).stat().st_size < MOST_BYTES


def test_a_program_traces_the_arrays_of_its_case_and_nothing_else(cpu: Device) -> None:
    import jax

    traces = []

    def function(array: Any, number: Any, *, axis: Any) -> Any:
        traces.append([isinstance(value, jax.core.Tracer) for value in (array, number, axis)])
        return array + number

    call_text = '{"tuple":[[{"array":0},2],{"mapping":[["axis",1]]}],"way":"jit"}'
    (array,) = cpu.to_device([np.arange(3.0)], "float32")
    for _ in range(2):
        assert program(function, call_text, cpu.handle)(array).tolist() == [2.0, 3.0, 4.0]
    assert traces == [[True, False, False]]


def in_way(cpu: Device, function: Any, call_text: str, *arrays: Any) -> list[Any]:
    results: Any = program(function, call_text, cpu.handle)(*cpu.to_device(list(map(np.asarray, arrays)), "float32"))
    return [array.tolist() for array in results]


def test_a_gradient_is_that_of_the_weighted_sum_of_the_results(cpu: Device) -> None:
    both = lambda one, other, scale: (one * other * scale, other.argmax(), other)  # noqa: E731
    call_text = (
        '{"tuple":[[{"array":0},{"array":1}],{"mapping":[["scale",2.0]]},[0,1],[{"array":2},null,{"array":3}]],'
        '"way":"gradient"}'
    )
    by_one, by_other = in_way(cpu, both, call_text, [1.0, 2.0], [3.0, 5.0], [1.0, 10.0], [1.0, 1.0])
    assert by_one == [6.0, 100.0]
    assert by_other == [3.0, 41.0]


def test_a_gradient_of_second_order_is_that_of_the_weighted_sum_of_the_gradients(cpu: Device) -> None:
    call_text = '{"tuple":[[{"array":0}],{"mapping":[]},[0],[{"array":1}],[{"array":2}]],"way":"second-order"}'
    (slope,) = in_way(cpu, lambda array: array**3, call_text, [1.0, 2.0], [1.0, 10.0], [1.0, 2.0])
    assert slope == [6.0, 240.0]


def with_wrong_slope() -> Callable[[Any], Any]:
    """A function that returns its array, with a derivative that is 1 % too large."""
    import jax

    @jax.custom_jvp
    def same(array: Any) -> Any:
        return array

    @same.defjvp
    def off(arrays: Any, tangents: Any) -> Any:
        return arrays[0], tangents[0] * 1.01

    return same


def test_a_gradient_that_is_off_is_noticed(cpu: Device, with_tag: Callable[[str], list[Case]]) -> None:
    same = with_wrong_slope()
    plain = [case for case in with_tag("judged-by-differences") if case.function in ("jax.lax.tanh", "jax.nn.sigmoid")]
    assert plain
    for case in plain:
        function = cpu.lookup(case.looked_up)

        def wrong(*arguments: Any, function: Any = function, **options: Any) -> Any:
            return same(function(*arguments, **options))

        assert run(cpu, case).ending is Ending.returned
        assert run(cpu, dataclasses.replace(case, given=wrong)).ending is Ending.mismatched, case.id


def test_a_second_derivative_that_is_off_is_noticed(cpu: Device, with_tag: Callable[[str], list[Case]]) -> None:
    import jax

    too_steep = with_wrong_slope()

    @jax.custom_vjp
    def bent(array: Any) -> Any:
        """The array, with the right first derivative and a second derivative that is 1 % too large."""
        return array

    bent.defvjp(lambda array: (array, None), lambda _, slope: (too_steep(slope),))
    names = ("jax.lax.tanh", "jax.numpy.square", "jax.nn.softmax")
    cases = [case for case in with_tag(GRADIENT) if case.function in names and TAILS not in case.tags]
    assert {case.function for case in cases if SECOND_ORDER in case.tags} == set(names)
    for case in cases:
        function = cpu.lookup(case.looked_up)

        def wrong(*arguments: Any, function: Any = function, **options: Any) -> Any:
            bend = lambda value: bent(value) if isinstance(value, jax.Array) else value  # noqa: E731
            return function(*map(bend, arguments), **options)

        ending = Ending.mismatched if SECOND_ORDER in case.tags else Ending.returned
        assert run(cpu, dataclasses.replace(case, given=wrong)).ending is ending, case.id


def gradient_of(function: str, with_tag: Callable[[str], list[Case]]) -> Case:
    return next(case for case in with_tag(GRADIENT) if case.function == function and TAILS not in case.tags)


def test_the_mutants_of_a_gradient_are_wrong_forward_or_backward_and_have_no_other_dtype(
    cpu: Device, subject: Subject, with_tag: Callable[[str], list[Case]]
) -> None:
    case = gradient_of("jax.numpy.matmul", with_tag)
    assert wrong_outcomes(cpu, case, subject) == [("value 0 off", False), ("gradients off", False)]


def test_a_wrong_index_is_no_mutant_of_a_gradient(
    cpu: Device, subject: Subject, with_tag: Callable[[str], list[Case]]
) -> None:
    """The function returns the largest values and their indexes. The values have a gradient, the indexes (value 1) have
    none."""
    case = gradient_of("jax.lax.top_k", with_tag)
    assert wrong_outcomes(cpu, case, subject) == [("value 0 off", False), ("gradients off", False)]


def test_a_case_that_is_wrong_on_the_cpu_says_so_and_fails_there(
    cpu: Device, with_tag: Callable[[str], list[Case]]
) -> None:
    wrong = with_tag(WRONG_ON_HOST)
    assert wrong
    for case in wrong:
        assert run(cpu, case).ending is Ending.mismatched, case.id


class Halved(GatedFunction):
    """A function that halves only numbers below 100, although its reference halves all."""

    def __init__(self, device: Device) -> None:
        import jax.numpy as jnp

        super().__init__("halved", lambda array: jnp.where(array < 100, array / 2, array), device)

    def arguments(self, call: str, arrays: Sequence[Any]) -> Arguments:
        return [*arrays], {}

    def tolerance(self, dtype: str, result: Any) -> Tolerance:
        return Tolerance(1e-4, 0.0)

    def references(self, dtype: str, fresh: Callable[[], Arguments]) -> Iterator[tuple[str, Reference]]:
        yield "numpy", lambda: [np.asarray(fresh()[0][0], np.float64) / 2]


def test_a_sample_is_taken_apart_by_what_the_cpu_gets_right_and_wrong(cpu: Device) -> None:
    from freezing.jax.tails import Observer, taken_apart

    pack = PackWriter()

    def sample(values: Sequence[float]) -> Sample:
        digest = pack.add(np.array(values, np.float32), "float32")
        call = '{"tuple":[[{"array":0}],{"mapping":[]}]}'
        return Sample("tails", "float32", call, (digest,), ("plain", "real"), len(values))

    observer = Observer(Halved(cpu), pack)
    parts = taken_apart(observer, sample([1, 1000, 8, 1e30]), sample([2, 2, 2, 2]), pack)
    assert parts.right is not None
    assert parts.wrong is not None
    assert pack.array(parts.right.arrays[0]).tolist() == [1, 2, 8, 2]
    assert pack.array(parts.wrong.arrays[0]).tolist() == [2, 1000, 2, np.float32(1e30)]
    case = observer.wrong_case(parts.wrong)
    assert pack.array(case["expected"][0]).tolist() == [1, 500, 1, np.float32(5e29)]
    assert {WRONG_ON_HOST, "judged-by-numpy"} <= set(case["tags"])
    assert "at 1000.0: 500.0, and the CPU 1000.0" in observer.difference(parts.wrong)
    assert taken_apart(observer, sample([1, 3]), sample([2, 2]), pack).wrong is None


class Joined(GatedFunction):
    """A function of NumPy's name, judged by NumPy."""

    def __init__(self, device: Device, name: str) -> None:
        import jax.numpy as jnp

        super().__init__(name, getattr(jnp, name), device)

    def arguments(self, call: str, arrays: Sequence[Any]) -> Arguments:
        return [*arrays], {}

    def tolerance(self, dtype: str, result: Any) -> Tolerance:
        return Tolerance(1e-4, 0.0)

    def references(self, dtype: str, fresh: Callable[[], Arguments]) -> Iterator[tuple[str, Reference]]:
        yield "numpy", lambda: [getattr(np, self.name)(np.asarray(fresh()[0][0], np.float64))]


@pytest.mark.parametrize(
    ("name", "values", "why"),
    [
        ("sum", [3e38, -3e38, 3e38], "the order decides"),
        ("sum", [1e4, 1.0, -1e4], "the last digits"),
        ("sum", [1e4, 1.0, 3.0], None),
        ("prod", [1e30, 1e-30, 1e20, 1e10], "the order decides"),
        ("prod", [1e30, 1e-30, 2.0], None),
        ("cumprod", [1e30, 1e-30, 1e20, 1e10], "the order decides"),
        ("square", [1e4, 1.0, -1e30], None),
        ("flip", [3e38, 1.0, -3e38], None),
    ],
)
def test_a_result_that_another_order_may_change_is_open(
    cpu: Device, name: str, values: Sequence[float], why: str | None
) -> None:
    from freezing.jax.tails import Observer, reason_open

    pack = PackWriter()
    digest = pack.add(np.array(values, np.float32), "float32")
    call = '{"tuple":[[{"array":0}],{"mapping":[]}]}'
    sample = Sample("tails", "float32", call, (digest,), ("plain", "real"), len(values))
    reason = reason_open(Observer(Joined(cpu, name), pack), sample, pack)
    assert reason is None if why is None else why in str(reason)


def test_a_float_joined_of_whole_numbers_at_their_limits_is_open(cpu: Device) -> None:
    from freezing.jax.tails import BY_ORDER, Observer, reason_open

    pack = PackWriter()
    digest = pack.add(np.array([2**31 - 1, -(2**31), 1], np.int32), "int32")
    call = '{"tuple":[[{"array":0}],{"mapping":[]}]}'
    sample = Sample("limits", "int32", call, (digest,), ("plain", "integer"), 3)
    for name in ("mean", "gradient"):
        assert reason_open(Observer(Joined(cpu, name), pack), sample, pack) == BY_ORDER
    assert reason_open(Observer(Joined(cpu, "exp2"), pack), sample, pack) is None
    assert reason_open(Observer(Joined(cpu, "max"), pack), sample, pack) is None


def test_a_base_with_nan_and_infinity_is_settled_before_it_is_varied() -> None:
    from freezing.jax.derived import settle

    pack = PackWriter()
    edges = pack.add(np.array([0, -1, np.inf, np.nan, 0.5], np.float32), "float32")
    plain = pack.add(np.array([0, 1], np.float32), "float32")
    sample = Sample("edges", "float32", "", (edges, plain), ("plain", "real"), 7)
    values = pack.array(settle(sample, pack).arrays[0])
    assert np.isfinite(values).all()
    assert not np.isin(values, (-1, 0, 1)).any()
    assert values[4] == 0.5
    assert settle(sample, pack).arrays[1] == plain


def test_a_written_way_stands_beside_the_parts_of_the_call() -> None:
    assert FrozenCall(json.dumps({"tuple": [[], {"mapping": []}], "way": JIT})).way == JIT
    assert FrozenCall('{"tuple":[[],{"mapping":[]}]}').way is None
