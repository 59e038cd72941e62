"""The recorder of TensorFlow, in the test process: the reports about calls are right, and replays pass and detect
errors."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from protocol.enums import Verdict
from runners.suite.cases import Case
from runners.suite.device import Device
from runners.suite.recording.book import CALL, CROSSING, FELL_BACK, LEFT_OUT, RAISED, Book
from runners.tensorflow import recorder
from runners.tensorflow.devices import Cpu
from runners.tensorflow.replay import case_of
from tests.frameworks.common import recording
from tests.frameworks.common.recording import Entries, attack, counts, not_passed, of_kind
from tests.frameworks.common.running import run


def record(work: Callable[[], object], *, with_values: bool = False) -> Entries:
    return recording.record(recorder.recording, work, folder=Path(__file__).parent, with_values=with_values)


def cases(entries: Entries, folder: Path) -> list[Case]:
    return recording.cases(entries, "tensorflow", case_of, folder)


def several_calls() -> None:
    tf.random.set_seed(0)
    x = tf.random.normal((6, 4))
    w = tf.Variable(tf.random.normal((4, 3)))
    table = tf.Variable(tf.ones((5, 4)))

    @tf.function
    def step(x: tf.Tensor, y: tf.Tensor) -> None:
        with tf.GradientTape() as tape:
            logits = tf.nn.gelu(x @ w)
            rows = tf.gather(table, y)
            loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
            total = tf.reduce_mean(loss) + tf.reduce_sum(rows * rows)
        slope, _ = tape.gradient(total, [w, table])
        w.assign_sub(0.1 * slope)

    step(x, tf.constant([0, 1, 2, 0, 1, 2]))
    tf.where(x > 0, x, 2 - x)
    tf.exp(tf.cast(x, tf.bfloat16))
    tf.transpose(tf.concat([x, x[:2]], axis=0), perm=[1, 0])
    tf.cumsum(x, axis=-1, reverse=True)
    tf.math.top_k(tf.constant([1.0, 1.0, 0.0]), k=2)
    tf.nn.dropout(x, 0.5)
    tf.nn.conv2d(tf.ones((1, 8, 8, 3)), np.ones((3, 3, 3, 4), np.float32), strides=1, padding="SAME")
    tf.linalg.svd(x)
    tf.experimental.numpy.add(np.arange(3.0), 1)
    tf.complex(x, x) * tf.complex(x, x)


def test_calls_in_functions_are_told_with_their_count_line_and_gradient() -> None:
    w = tf.Variable(tf.ones(3))

    @tf.function(jit_compile=True)
    def step(x: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            total = tf.constant(0.0)
            for row in range(4):
                total += tf.reduce_sum(tf.tanh(x[row] * w))
        return tape.gradient(total, w)

    entries = record(lambda: [step(tf.ones((4, 3)) * (1.0 + number)) for number in range(2)])
    calls = {entry["function"]: entry for entry in of_kind(entries, CALL)}
    assert calls["tf.tanh"]["count"] == 8
    assert calls["tf.tanh"]["arrays"] == [{"dtype": "float32", "shape": [3], "low": 1.0, "high": 1.0}]
    assert calls["tf.tanh"]["gradient"]["wanted"] == [0]
    assert calls["tf.ones"]["gradient"] is None
    ((file, line, _),) = calls["tf.tanh"]["sites"]
    assert file == Path(__file__).name
    assert "tf.tanh(x[row] * w)" in Path(__file__).read_text().splitlines()[line - 1]


def test_what_tensorflow_calls_by_itself_is_no_call_of_the_users() -> None:
    x = tf.Variable(tf.ones((2, 3)))

    def work() -> None:
        with tf.GradientTape() as tape:
            y = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[0, 1], logits=x)
        tape.gradient(y, x)

    assert counts(record(work)) == {"tf.nn.sparse_softmax_cross_entropy_with_logits": 1}


def test_a_layer_of_keras_is_seen_through_and_its_variables_are_arrays() -> None:
    keras.utils.set_random_seed(0)
    layer = keras.layers.Dense(3)
    x = tf.ones((2, 4))
    layer(x)
    entries = record(lambda: layer(x))
    calls = {entry["function"]: entry for entry in of_kind(entries, CALL)}
    assert [array["shape"] for array in calls["tf.matmul"]["arrays"]] == [[2, 4], [4, 3]]
    assert counts(entries, LEFT_OUT) == {}


def test_the_functions_of_a_data_set_run_on_the_host_and_are_not_recorded() -> None:
    def work() -> None:
        data = tf.data.Dataset.from_tensor_slices([1.0, 2.0]).map(lambda value: tf.sin(value) * 2.0)
        for value in data:
            tf.cos(value)

    assert counts(record(work)) == {"tf.cos": 2}


def test_a_variable_that_is_assigned_is_changed() -> None:
    w = tf.Variable(tf.ones(3))
    entries = record(lambda: w.assign_add(tf.fill([3], 2.0)))
    calls = {entry["function"]: entry for entry in of_kind(entries, CALL)}
    assert calls["tf.Variable.assign_add"]["changes"] == [0]
    assert w.numpy().tolist() == [3.0, 3.0, 3.0]


def test_everything_is_put_back_after_a_recording() -> None:
    def members() -> list[Any]:
        variable = tf.Variable(1.0)
        return [
            tf.matmul, tf.Tensor.__add__, type(variable).assign_add, type(variable).__add__,
            tf.config.functions_run_eagerly(),
        ]  # fmt: skip

    before = members()
    record(lambda: tf.sin(1.0))
    assert members() == before


def test_reads_and_moves_are_crossings() -> None:
    def work() -> None:
        x = tf.constant(np.ones(3))
        if tf.reduce_sum(x) > 1:
            x.numpy()
        float(x[1])
        tf.constant(2.0)

    assert counts(record(work), CROSSING) == {
        "tf.constant": 1, "tf.Tensor.__bool__": 1, "tf.Tensor.numpy": 1, "tf.Tensor.__float__": 1,
    }  # fmt: skip


def test_what_cannot_be_kept_is_told_with_its_reason_and_goes_on() -> None:
    def work() -> None:
        tf.concat([tf.constant(["a"]), tf.constant(["b"])], 0)
        tf.expand_dims(tf.ragged.constant([[1], [2, 3]]), 0)

    reasons = {entry["function"]: entry["reason"] for entry in of_kind(record(work), LEFT_OUT)}
    assert reasons == {"tf.concat": "an array of string"}


@pytest.mark.parametrize("with_values", [False, True])
def test_replays_are_right_on_the_host(tmp_path: Path, *, with_values: bool) -> None:
    entries = record(several_calls, with_values=with_values)
    assert counts(entries, LEFT_OUT) == {}
    replay_cases = cases(entries, tmp_path)
    assert {case.id.endswith("-gradient") for case in replay_cases} == {True, False}
    assert not_passed(Cpu(), replay_cases) == {}


def watch(device: Device, work: Callable[[], object]) -> Entries:
    watching = partial(_watching, device)
    return recording.record(watching, work, folder=Path(__file__).parent)


def _watching(device: Device, book: Book, folder: str, _: object) -> AbstractContextManager[Callable[[], None]]:
    return recorder.watching(book, folder, device)


def line_of(text: str) -> int:
    """The number of the first line of this file with the text."""
    return next(number for number, line in enumerate(Path(__file__).read_text().splitlines(), 1) if text in line)


def test_a_whole_run_names_the_call_that_the_compiler_refuses_and_its_line(xla: Device) -> None:
    w = tf.Variable([[2.0, 0.0], [0.0, 3.0]])

    @tf.function
    def step(x: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.tanh(x @ w))
        w.assign_sub(0.1 * tape.gradient(loss, w))
        return tf.linalg.eigvals(w)  # the refused call

    def work() -> None:
        with pytest.raises(tf.errors.InvalidArgumentError):
            step(tf.ones((4, 2)))

    (event,) = watch(xla, work)
    assert (event["kind"], event["function"]) == (RAISED, "tf.linalg.eigvals")
    assert event["sites"] == [[Path(__file__).name, line_of("  # the refused call"), 1]]


def test_a_whole_run_names_the_call_that_works_on_the_host(
    accelerator: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    def sine_on_host(x: tf.Tensor) -> tf.Tensor:
        return tf.constant(np.sin(x.numpy()))

    def work() -> None:
        tf.sin(tf.ones((4, 4)))  # it works on the host

    monkeypatch.setattr(tf, "sin", sine_on_host)
    (event,) = watch(accelerator, work)
    assert (event["kind"], event["function"]) == (FELL_BACK, "tf.sin")
    assert event["sites"] == [[Path(__file__).name, line_of("  # it works on the host"), 1]]


def test_sizes_that_tensorflow_reads_while_it_compiles_are_no_fallback_of_a_whole_run(xla: Device) -> None:
    def work() -> None:
        tf.pad(tf.ones((2, 3)), tf.constant([[0, 1], [1, 0]]))

    assert of_kind(watch(xla, work), FELL_BACK) == []


def test_a_size_that_tensorflow_reads_is_no_fallback_of_a_whole_run(accelerator: Device) -> None:
    assert watch(accelerator, lambda: tf.image.resize(tf.ones((1, 4, 4, 1)), (2, 2))) == []


def test_a_whole_run_gives_a_program_what_it_gets_without(xla: Device) -> None:
    ragged = tf.ragged.constant([[1.0], [2.0, 3.0]])
    layer = keras.layers.Dense(3, kernel_initializer="ones")

    def work() -> list[Any]:
        variable = tf.Variable(tf.ones(3))
        variable.assign_add([1.0, 2.0, 3.0])
        with tf.GradientTape() as tape:
            total = tf.reduce_sum(tf.tanh(variable) * 2.0)
        return [
            tf.is_tensor(variable), tf.broadcast_static_shape(tf.TensorShape([1, 3]), tf.TensorShape([3])),
            tf.math.top_k(tf.constant([1.0, 3.0, 2.0]), k=2).indices.numpy().tolist(),
            tape.gradient(total, variable).numpy().round(4).tolist(), variable.numpy().tolist(),
            tf.concat([tf.constant(["a"]), ["b"]], 0).numpy().tolist(), bool(tf.equal(tf.constant("a"), "a")),
            tf.reduce_sum(ragged, axis=1).numpy().tolist(), (ragged * 2.0).to_list(),
            layer(tf.ones((2, 4))).numpy().tolist(), tf.config.functions_run_eagerly(),
        ]  # fmt: skip

    before, results = work(), list[Any]()
    assert watch(xla, lambda: results.extend(work())) == []
    assert results[:-1] == before[:-1]
    assert tf.config.functions_run_eagerly() is False


NOTICED = (
    "tf.Tensor.__matmul__",
    "tf.nn.gelu",
    "tf.nn.sparse_softmax_cross_entropy_with_logits",
    "tf.gather",
    "tf.where",
    "tf.exp",
    "tf.cumsum",
    "tf.nn.conv2d",
)


def test_replays_notice_a_device_that_is_wrong(tmp_path: Path) -> None:
    class Wrong(Cpu):
        def lookup(self, name: str) -> Any:
            function = super().lookup(name)
            return lambda *arguments, **options: function(*arguments, **options) * 1.1

    entries = [entry for entry in record(several_calls) if entry["function"] in NOTICED]
    outcomes = {case.function: run(Wrong(), case).verdict for case in cases(entries, tmp_path)}
    assert outcomes == dict.fromkeys(NOTICED, Verdict.failed)


@pytest.mark.parametrize(
    "function",
    [
        "os.system", "os.mkdir", "builtins.exec", "tf.io.write_file", "tf.io.gfile.makedirs", "tf.io.read_file",
        "tf.saved_model.load", "tf.load_library", "tf.load_op_library", "tf.print", "tf.py_function",
        "tf.numpy_function", "tf.raw_ops.WriteFile", "tf.raw_ops.EagerPyFunc", "tf.keras.models.load_model",
        "tf.import_graph_def", "tf.nn.fixed_unigram_candidate_sampler", "tf.random.fixed_unigram_candidate_sampler",
        "tf.summary.create_file_writer", "tf.profiler.experimental.start", "tf.Tensor.__reduce__", "tf.Tensor.numpy",
        "tf.Variable.__class__", "module_of_the_attack.write",
    ],
)  # fmt: skip
def test_a_recording_calls_nothing_but_what_computes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function: str
) -> None:
    mark = tmp_path / "mark"
    (tmp_path / "module_of_the_attack.py").write_text(f"open({str(mark)!r}, 'w')\nwrite = print\n")
    monkeypatch.syspath_prepend(tmp_path)
    (entry,) = of_kind(record(lambda: tf.ones(2)), CALL)
    (attack_case,) = cases([attack(entry, function, str(mark))], tmp_path)
    outcome = run(Cpu(), attack_case)
    assert outcome.verdict is Verdict.skipped
    assert "a recording may not make this call" in str(outcome.evidence and outcome.evidence.reason)
    assert not mark.exists()


def test_a_recording_hands_no_function_to_one_that_computes(tmp_path: Path) -> None:
    (entry,) = of_kind(record(lambda: tf.ones(2)), CALL)
    call = {"tuple": [[{"public": "os.system", "named": 1}], {"mapping": []}]}
    (attack,) = cases([{**entry, "call": call}], tmp_path)
    outcome = run(Cpu(), attack)
    assert outcome.verdict is Verdict.skipped
    assert "names no function among arguments" in str(outcome.evidence and outcome.evidence.reason)
