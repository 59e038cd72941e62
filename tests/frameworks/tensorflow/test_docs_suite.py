"""TensorFlow's suite ``docs`` is complete, right on the CPU and compiled as a whole, and its examples leave the process
unchanged."""

from __future__ import annotations

from typing import Any

import pytest

from protocol.enums import Placement, Verdict
from runners.suite.cases import Function
from runners.suite.checks import Expected
from runners.suite.device import Device
from runners.tensorflow import FRAMEWORK
from tests.frameworks.common import docs
from tests.frameworks.common.docs_claims import (
    test_an_example_with_another_value_is_noticed,
    test_every_example_is_right_on_the_cpu,
    test_every_function_says_whether_it_is_compared,
    test_every_public_name_is_charted_or_left_out_with_a_reason,
    test_the_catalogue_is_read_without_the_framework,
    test_the_files_are_small_and_name_their_release,
    test_what_is_left_out_is_counted_by_its_reason,
)
from tests.frameworks.common.running import run


@pytest.fixture(scope="module")
def functions() -> list[Function]:
    return docs.functions_of(FRAMEWORK)


@pytest.mark.parametrize(
    ("turning", "asking", "as_it_comes"),
    [
        (["keras.backend.set_floatx('float64')"], "keras.backend.floatx() == 'float32'", True),
        (["keras.backend.set_epsilon(1e-3)"], "keras.backend.epsilon()", 1e-7),
        (
            ["keras.backend.set_image_data_format('channels_first')"],
            "keras.config.image_data_format() == 'channels_last'",
            True,
        ),
        (
            ["keras.mixed_precision.set_global_policy('mixed_bfloat16')"],
            "layers.Dense(1).compute_dtype == 'float32'",
            True,
        ),
        (
            ["@keras.saving.register_keras_serializable('Example')\ndef halved(x): return x / 2"],
            "'Example>halved' in keras.saving.get_custom_objects()",
            False,
        ),
        (["tf.config.run_functions_eagerly(True)"], "tf.config.functions_run_eagerly()", False),
        (["tf.config.set_soft_device_placement(True)"], "tf.config.get_soft_device_placement()", False),
        (["tf.debugging.set_log_device_placement(True)"], "tf.debugging.get_log_device_placement()", False),
    ],
)
def test_an_example_that_turns_a_setting_does_not_hurt_the_next(
    cpu: Device, functions: list[Function], turning: list[str], asking: str, as_it_comes: Any
) -> None:
    docs.assert_settings_do_not_reach_the_next(cpu, functions, turning, asking, as_it_comes)


ONES = Expected([1.0, 1.0], "float32")
TWOS = Expected([2.0, 2.0], "float32")
SPLITS = Expected([0, 1, 1], "int64")


@pytest.mark.parametrize(
    ("sources", "expected_values"),
    [
        (
            ["tf.ones(2).numpy()", "[tf.ones(2).numpy()]", "print(tf.ones(2).numpy())"],
            {"1": ONES, "2": [ONES], "3": ONES},
        ),
        # A value is shown as it was there, whatever becomes of the variable.
        (["v = tf.Variable(tf.ones(2))", "v.numpy()", "v.assign_add([1.0, 1.0])"], {"v": TWOS, "2": ONES, "3": TWOS}),
        (["v = keras.Variable([1.0, 1.0])", "v.numpy()", "v.assign(v + v)", "v"], {"2": ONES, "4": TWOS}),
        (["m = keras.metrics.Sum()", "m.update_state([1.0, 2.0])", "m.result()"], {"3": Expected(3.0, "float32")}),
        (
            ["x = layers.Dense(2, kernel_initializer='ones')(tf.ones((1, 2)))", "x.shape"],
            {"x": Expected([[2.0, 2.0]], "float32"), "2": [1, 2]},
        ),
        (["tf.ones(2).dtype", "tf.ones(2)"], {"1": "float32", "2": ONES}),
        (["tf.ones(2).numpy().tolist()", "tf.ones(()).numpy().item()"], {"1": ONES, "2": Expected(1.0, "float32")}),
        (
            ["r = tf.ragged.constant([[1.0], []])", "(r + 0.0).to_list()"],
            {key: {"values": Expected([1.0], "float32"), "row_splits": [SPLITS]} for key in ("r", "2")},
        ),
        (
            ["tf.IndexedSlices(tf.ones(2), tf.constant([0, 1]))"],
            {"1": {"values": ONES, "indices": Expected([0, 1], "int32")}},
        ),
        (
            ["@tf.function\ndef larger(x):\n  if x[0] > 0:\n    return x + x\n  return x", "larger(tf.ones(2))"],
            {"2": TWOS},
        ),
    ],
)
def test_an_example_is_compiled_as_a_whole_where_its_device_compiles(
    cpu: Device, xla: Device, functions: list[Function], sources: list[str], expected_values: dict[str, Any]
) -> None:
    case = next(
        case for function in functions for case in function.cases if case.kind == "value" and not case.host_only
    )
    for device in (cpu, xla):
        outcome = run(
            device, docs.case_of(docs.example_of(case), case, sources, list(expected_values), expected_values)
        )
        assert (outcome.verdict, outcome.placement) == (Verdict.passed, Placement.on_device), outcome.evidence
        assert outcome.proof.fallbacks == {}


def test_texts_of_tensors_are_compared(cpu: Device, functions: list[Function]) -> None:
    case = next(
        case for function in functions for case in function.cases if case.kind == "value" and not case.host_only
    )
    sources = ["tf.constant(['a', 'ö'])", "tf.constant(['a']).numpy()", "tf.constant('a').numpy()"]
    expected_values = {"1": ["a", "ö"], "2": ["a"], "3": "a"}
    outcome = run(cpu, docs.case_of(docs.example_of(case), case, sources, list(expected_values), expected_values))
    assert outcome.verdict is Verdict.passed, outcome.evidence


def test_texts_of_a_line_that_is_not_the_functions_are_no_reason_to_refuse_the_program(
    cpu: Device, xla: Device, functions: list[Function]
) -> None:
    case = next(
        case for function in functions for case in function.cases if case.kind == "value" and not case.host_only
    )
    function = case.function.rpartition(".")[2]
    others = ["t = tf.constant(['a'])", f"def {function}(x): return x + x", f"{function}(tf.ones(2))"]
    expected_values = {"t": ["a"], "3": TWOS}
    for device in (cpu, xla):
        outcome = run(device, docs.case_of(docs.example_of(case), case, others, list(expected_values), expected_values))
        assert outcome.verdict is Verdict.passed, outcome.evidence
    own = [f"def {function}(x): return x", f"{function}(tf.constant(['a']))"]
    outcome = run(xla, docs.case_of(docs.example_of(case), case, own, ["2"], {"2": ["a"]}))
    assert outcome.verdict is Verdict.failed


def test_values_are_shown_without_a_read_on_the_host(accelerator: Device, functions: list[Function]) -> None:
    case = next(
        case for function in functions for case in function.cases if case.kind == "value" and not case.host_only
    )
    outcome = run(accelerator, docs.case_of(docs.example_of(case), case, ["tf.ones(2).numpy()"], ["1"], {"1": ONES}))
    assert (outcome.verdict, outcome.placement) == (Verdict.passed, Placement.on_device), outcome
