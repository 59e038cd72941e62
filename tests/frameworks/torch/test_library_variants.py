"""The variants in torch's suite ``library``: their kinds and names, views, gradients of gradients, and refusals."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.testing._internal.common_methods_invocations import op_db

from freezing.common.derivatives import are_zero
from freezing.common.parts import LISTED, LISTED_VARIANTS
from freezing.common.variants import LARGE_ELEMENTS, OFFSET, SECOND_ORDER, SIZED_LARGE, Call
from freezing.torch.gradients import SecondOrderGradient
from freezing.torch.large import LONG
from freezing.torch.one_signed import ONE_SIGNED
from freezing.torch.operators import functions_of
from freezing.torch.variants import INT16, NAN_GRADIENT, OVERLAPPING_GRADIENT, FrozenCases, freeze, operator
from freezing.torch.views import OF_TORCH, ThroughView, overlap
from freezing.torch.wrong_on_host import WRONG_FUNCTIONS
from protocol.enums import GRADIENT, WRONG_ON_HOST, Ending, Verdict
from runners.suite.cases import Case, Context
from runners.suite.checks import Tolerance
from runners.suite.device import Device
from runners.suite.frozen import PACK, VARIANTS_PACK, Pack, frozen_functions, packs_in
from runners.torch import FRAMEWORK, ways
from runners.torch.frozen import frozen_call
from runners.torch.layouts import laid_out, strided
from tests.frameworks.common import library
from tests.frameworks.common.running import run

FOLDER = library.folder_of(FRAMEWORK)


@pytest.fixture(scope="module")
def cases() -> dict[str, Case]:
    return {case.id: case for function in FRAMEWORK.load_suites()["library"].functions for case in function.cases}


@pytest.fixture(scope="module")
def variants(cases: dict[str, Case]) -> list[Case]:
    return [cases[f"{case['function']}/{case['name']}"] for case in Pack(FOLDER / VARIANTS_PACK).cases]


def test_the_files_are_small_and_of_the_torch_of_the_cases() -> None:
    library.assert_small_variants(FRAMEWORK)


def test_what_is_left_out_is_counted_by_its_reason() -> None:
    library.assert_reasons_are_counted(library.left_out_of(FRAMEWORK, file_name=LISTED_VARIANTS))


def test_each_is_named_by_the_case_that_it_is_made_of(variants: list[Case]) -> None:
    names: dict[str, list[str]] = defaultdict(list)
    for case in Pack(FOLDER / PACK).cases:
        names[case["function"]].append(f"{case['function']}/{case['name']}-")
    # A variant stays where only the case that it is made of was left out by a later rule.
    for function, samples in json.loads((FOLDER / LISTED).read_text())["left_out"]["not determined"].items():
        names[function] += [f"{function}/{name}-" for name in samples]
    assert [case.id for case in variants if not case.id.startswith(tuple(names[case.function]))] == []


LEAST = {"refuses": 600, "non-finite": 500, "tails": 800, "sized-odd": 500, "sized-large": 500, "overlapping": 600}
"""The number of functions with a variant of each kind."""


@pytest.mark.parametrize("tag", LEAST)
def test_every_kind_is_of_hundreds_of_functions(variants: list[Case], tag: str) -> None:
    assert len({case.function for case in variants if tag in case.tags}) >= LEAST[tag]


@pytest.mark.parametrize(
    ("dtype", "least"), [("float16", 700), ("bfloat16", 700), ("int8", 600), ("uint8", 600), ("int16", 100)]
)
def test_small_dtypes_are_of_many_functions(variants: list[Case], dtype: str, least: int) -> None:
    assert len({case.function for case in variants if case.dtype == dtype}) >= least


def test_non_finite_values_are_in_the_inputs(variants: list[Case]) -> None:
    pack = packs_in(FOLDER)
    for case in Pack(FOLDER / VARIANTS_PACK).cases:
        if "non-finite" in case["tags"]:
            floats = [pack.array(digest) for digest in case["arrays"] if "float" in pack.dtype(digest)]
            assert any(not np.isfinite(array).all() for array in floats), case["name"]


def test_a_tenth_of_the_functions_with_a_gradient_have_one_of_second_order(cases: dict[str, Case]) -> None:
    functions = {
        tag: {case.function for case in cases.values() if tag in case.tags} for tag in (GRADIENT, SECOND_ORDER)
    }
    assert len(functions[SECOND_ORDER]) > len(functions[GRADIENT]) / 10


def test_no_second_derivative_is_zero_within_its_tolerance() -> None:
    packs = packs_in(FOLDER)
    for case in packs.cases:
        if SECOND_ORDER in case["tags"]:
            derivatives = [packs.array(digest) for digest in case["expected"]]
            assert not are_zero(Tolerance(*case["tolerance"]), derivatives), (case["function"], case["name"])


def test_a_second_derivative_that_last_digits_decide_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The inputs of ``tan`` are near its poles, and those of ``sigmoid`` are not."""
    monkeypatch.syspath_prepend(tmp_path)
    cases = draw(SECOND_ORDER, ["tan", "sigmoid"], tmp_path / "second_derivatives")
    assert {case.function for case in cases} == {"torch.sigmoid"}


def accepting(*arguments: Any, **options: Any) -> Any:
    return torch.zeros(3)


def test_a_device_that_answers_what_the_host_refuses_fails(cpu: Device, variants: list[Case]) -> None:
    refusal = next(case for case in variants if case.id.startswith("torch.index_select/") and case.refuses)
    assert run(cpu, refusal).verdict is Verdict.passed
    outcome = run(cpu, dataclasses.replace(refusal, given=accepting))
    assert outcome.verdict is Verdict.failed
    assert outcome.evidence is not None
    assert "the host refuses it with" in str(outcome.evidence.mismatch)


@pytest.mark.parametrize("size", [1, 2, 6])
def test_a_view_that_starts_inside_a_buffer_is_surrounded_by_other_values(size: int) -> None:
    values = torch.arange(1.0, 1.0 + size)
    view = laid_out(values, None, None, 3)
    assert view.tolist() == values.tolist()
    assert (view.storage_offset(), view._base.numel()) == (3, size + 6)
    assert set(view._base.tolist()) == set(values.tolist())


@pytest.mark.parametrize(("shape", "offset", "buffer_shape"), [((), 3, (7,)), ((2, 3), 9, (8, 3))])
def test_a_view_is_taken_from_a_buffer_as_programs_take_it(
    shape: tuple[int, ...], offset: int, buffer_shape: tuple[int, ...]
) -> None:
    view = laid_out(torch.arange(float(np.prod(shape))).reshape(shape), None, None, 3)
    assert (view.shape, view.storage_offset(), view._base.shape) == (shape, offset, buffer_shape)


def test_a_call_takes_its_views_itself(cpu: Device) -> None:
    """So a lazy device cannot compute the views before the call."""
    paused: list[str] = []

    @contextlib.contextmanager
    def surroundings(so_far: Any = None) -> Iterator[None]:
        paused.append("begins")
        yield
        paused.append("ends")

    def function(view: Any, other: Any) -> Any:
        assert paused[-1] == "ends"
        return view.storage_offset(), view._base.numel(), other.storage_offset()

    context = Context(function, cpu.handle, "cpu", torch.float32, cpu.to_device, surroundings=surroundings)
    call = frozen_call('{"tuple":[[{"array":0,"offset":3},{"array":1}],{"mapping":[]}]}')
    prepared_call = call(context, torch.arange(2.0), torch.arange(3.0))
    assert paused == []
    assert prepared_call() == (3, 8, 0)
    assert paused == ["begins", "ends"]


def test_a_view_is_one_on_the_device(xla: Device) -> None:
    view = laid_out(xla.to_device(np.arange(6.0).reshape(2, 3), "float32"), "int32", None, 3)
    assert (view.device.type, view.cpu().tolist()) == ("xla", [[0, 1, 2], [3, 4, 5]])


@pytest.mark.parametrize("shape", [(4,), (3, 4), (2, 1, 3), (2, 3, 4)])
def test_elements_that_share_memory_are_equal(shape: tuple[int, ...]) -> None:
    array, strides = overlap(np.arange(np.prod(shape)).reshape(shape))
    view = strided(torch.from_numpy(array), strides)
    assert view.tolist() == array.tolist()
    assert view._base.numel() < array.size


def test_a_write_through_a_view_is_judged_on_the_buffer_too() -> None:
    operator = next(op for op in op_db if op.name == "neg")
    subject = ThroughView(next(function for function in functions_of(operator) if function.in_place))
    call = '{"tuple":[[{"array":0,"offset":3}],{"mapping":[]}],"way":"through_view"}'

    def fresh() -> Any:
        return subject.arguments(call, [torch.tensor([1.0, 2.0])])

    arguments, options = fresh()
    result, buffer = subject.call(*arguments, **options)
    assert result.tolist() == [-1, -2]
    assert buffer.tolist() == [2, 1, 2, -1, -2, 2, 1, 2]
    for _, reference in subject.references("float32", fresh):
        assert [array.tolist() for array in reference()] == [result.tolist(), buffer.tolist()]


def draw(kind: str, names: Sequence[str], package: Path) -> list[Case]:
    """Draw the variants of one kind of some operators into a new package, and read them."""
    package.mkdir()
    (package / "__init__.py").touch()
    operators = [op for op in op_db if op.name in names]
    freeze(
        kind,
        FrozenCases(Pack(FOLDER / PACK)),
        lambda kind, base_cases: chain.from_iterable(operator(op, kind, base_cases) for op in operators),
        package / PACK,
    )
    return [case for function in frozen_functions(package.name, frozen_call) for case in function.cases]


def test_what_is_drawn_of_views_is_right_where_it_is_charted(
    cpu: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This includes an in-place method, which is judged by the buffer, and a function that changes arrays other than
    its argument."""
    monkeypatch.syspath_prepend(tmp_path)
    cases = draw(OFFSET, ["neg", "nn.functional.instance_norm"], tmp_path / "views_of_two")
    assert {"torch.Tensor.neg_", "torch.nn.functional.instance_norm"} <= {case.function for case in cases}
    assert [case.id for case in cases if run(cpu, case).verdict is not Verdict.passed] == []


def test_a_gradient_at_a_nan_is_drawn_and_right_where_it_is_charted(
    cpu: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    cases = draw(NAN_GRADIENT, ["sigmoid", "cumsum"], tmp_path / "gradients_at_nan")
    assert {case.function for case in cases} == {"torch.sigmoid", "torch.cumsum"}
    for case in cases:
        assert {"gradient", "non-finite", "judged-by-float64"} <= set(case.tags)
        assert np.isnan(case.arguments(case.inputs())[0]).any()
        assert run(cpu, case).verdict is Verdict.passed


def test_a_gradient_by_a_view_has_a_value_for_each_of_its_elements(
    cpu: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Elements that share memory are differentiated by apart, and weights of the results make the values differ."""
    monkeypatch.syspath_prepend(tmp_path)
    cases = draw(OVERLAPPING_GRADIENT, ["exp", "mul"], tmp_path / "gradients_by_views")
    assert {case.function for case in cases} == {"torch.exp", "torch.mul"}
    for case in cases:
        assert {"gradient", "overlapping"} <= set(case.tags)
        assert run(cpu, case).verdict is Verdict.passed
    context = Context(torch.exp, cpu.handle, "cpu", torch.float32, cpu.to_device)
    exp = next(case for case in cases if case.function == "torch.exp")
    arrays = cpu.to_device(exp.arguments(exp.inputs()), "float32")
    ((view,), _, _, _) = frozen_call(exp.prepare.written).parts(arrays, cpu.handle)
    (gradient,) = exp.prepare(context, *arrays)()
    assert view.untyped_storage().nbytes() < view.numel() * view.itemsize
    assert gradient.shape == view.shape
    assert len(set(gradient.flatten().tolist())) == gradient.numel()


def test_large_arrays_are_drawn_by_rows_where_their_results_are_not_determined(
    cpu: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    cases = draw(SIZED_LARGE, ["neg", "linalg.inv"], tmp_path / "large_arrays")
    assert {case.function: case.tags[-2] for case in cases} == {
        "torch.neg": "sized-large",
        "torch.linalg.inv": "sized-rows",
    }
    for case in cases:
        assert max(array.size for array in case.arguments(case.inputs())) > LARGE_ELEMENTS
        assert run(cpu, case).verdict is Verdict.passed


def test_elements_to_put_in_order_are_distinct_along_a_row_of_a_large_array(
    cpu: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    cases = draw(SIZED_LARGE, ["sort", "topk"], tmp_path / "large_rows")
    assert {case.function for case in cases} == {"torch.sort", "torch.topk"}
    for case in cases:
        (array,) = case.arguments(case.inputs())
        assert case.id.endswith("sized-distinct")
        assert array.size > LARGE_ELEMENTS
        assert any(
            len(np.unique(row)) == LONG for row in np.moveaxis(array, array.shape.index(LONG), -1).reshape(-1, LONG)
        )
        assert run(cpu, case).verdict is Verdict.passed


def test_a_large_input_of_a_recurrent_module_is_a_large_batch(cases: dict[str, Case]) -> None:
    batches = [case for case in cases.values() if case.id.endswith("sized-batch")]
    names = {f"torch.nn.{kind}{cell}" for kind in ("RNN", "GRU", "LSTM") for cell in ("", "Cell")}
    assert names <= {case.function for case in batches}
    for case in batches:
        assert max(array.size for array in case.arguments(case.inputs())) > LARGE_ELEMENTS


def test_whole_numbers_are_drawn_in_int16(cpu: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    cases = draw(INT16, ["bitwise_and", "sin"], tmp_path / "in_int16")
    assert {(case.function, case.dtype) for case in cases} == {("torch.bitwise_and", "int16")}
    assert [run(cpu, case).verdict for case in cases] == [Verdict.passed]


def test_a_gradient_of_second_order_is_that_of_half_the_squares_of_the_first() -> None:
    array, weights = torch.tensor([0.5, -2.0]), torch.tensor([1.0, 3.0])
    (gradient,) = ways.second_order(lambda x: x**3, [array], {}, [0], [weights])()
    np.testing.assert_allclose(gradient, 18 * weights**2 * array.detach() ** 3, rtol=1e-6)


def test_differences_of_the_gradients_are_those_of_second_order() -> None:
    operator = next(op for op in op_db if op.name == "sigmoid")
    subject = SecondOrderGradient(next(iter(functions_of(operator))))
    parts = [torch.tensor([0.5, -1.0])], {}, [0], [torch.tensor([2.0, 1.0])]
    (by_differences,), (by_the_library,) = subject.differences(parts), subject.call(*parts)
    np.testing.assert_allclose(by_the_library, by_differences, rtol=1e-5)


class _WrongSlope(torch.autograd.Function):
    """The array, with a derivative that is 1 % too large."""

    @staticmethod
    def forward(context: Any, array: Any) -> Any:
        return array.view_as(array)

    @staticmethod
    def backward(context: Any, slope: Any) -> Any:
        return slope * 1.01


class _WrongCurvature(_WrongSlope):
    """The array, with the right first derivative and a second derivative that is 1 % too large."""

    @staticmethod
    def backward(context: Any, slope: Any) -> Any:
        return _WrongSlope.apply(slope)


@pytest.mark.parametrize("name", ["torch.sigmoid", "torch.matmul", "torch.log_softmax"])
def test_a_second_derivative_that_is_off_is_noticed(cpu: Device, cases: dict[str, Case], name: str) -> None:
    function = cpu.lookup(name)

    def wrong(*arguments: Any, **options: Any) -> Any:
        bend = lambda value: _WrongCurvature.apply(value) if isinstance(value, torch.Tensor) else value  # noqa: E731
        return function(*map(bend, arguments), **options)

    own = [case for case in cases.values() if case.function == name and GRADIENT in case.tags]
    assert any(SECOND_ORDER in case.tags for case in own)
    for case in own:
        verdict = Verdict.failed if SECOND_ORDER in case.tags else Verdict.passed
        assert run(cpu, dataclasses.replace(case, given=wrong)).verdict is verdict, case.id


def test_a_gradient_that_depends_on_no_input_has_none_of_second_order() -> None:
    operator = next(op for op in op_db if op.name == "nn.functional.relu")
    subject = SecondOrderGradient(next(iter(functions_of(operator))))
    with pytest.raises(ValueError, match="depend on no input"):
        subject.call([torch.tensor([0.5, -1.0])], {}, [0], [torch.tensor([2.0, 1.0])])


def test_arrays_that_have_strides_of_their_own_are_in_no_view() -> None:
    call_tree = {"tuple": [[{"array": 0, "strides": [1, 3]}], {"mapping": []}]}
    call = Call("f/1", "float32", frozenset(), (np.zeros((3, 2)),), call_tree, frozenset({0}))
    assert [variant.name for variant in OF_TORCH if variant.of(call) is not None] == []


def test_a_case_that_is_wrong_on_the_cpu_says_so_and_fails_there(cpu: Device, variants: list[Case]) -> None:
    wrong = [case for case in variants if WRONG_ON_HOST in case.tags]
    assert {case.function for case in wrong} == set().union(*WRONG_FUNCTIONS.values())
    for case in wrong:
        assert run(cpu, case).ending is Ending.mismatched, case.id


def test_one_signed_cases_expect_what_a_start_at_zero_would_hide(variants: list[Case]) -> None:
    """A maximum of negative numbers is negative, and a minimum of positive numbers is positive."""
    one_signed = {case.id: case for case in variants if ONE_SIGNED in case.tags}
    assert len({case.function for case in one_signed.values()}) > 100
    for name, sign in (
        ("torch.nn.functional.embedding_bag/float32-45-without-padding_idx-all-negative", -1),
        ("torch.amax/float32-11-without-dim-all-negative", -1),
        ("torch.amin/float32-11-without-dim-all-positive", 1),
    ):
        reference = one_signed[name].reference
        assert reference is not None
        assert (np.sign(reference().values) == sign).all(), name
