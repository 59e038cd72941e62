"""The recorder of JAX, in the test process: the reports about calls are right, and replays pass and detect errors."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from protocol.enums import Verdict
from runners.jax import compiled_functions, recorder
from runners.jax.devices import Cpu
from runners.jax.replay import case_of
from runners.suite.cases import Case
from runners.suite.recording.book import CALL, CROSSING, LEFT_OUT
from tests.frameworks.common import recording
from tests.frameworks.common.recording import Entries, attack, counts, not_passed, of_kind
from tests.frameworks.common.running import run


def record(work: Callable[[], object], *, with_values: bool = False) -> Entries:
    return recording.record(recorder.recording, work, folder=Path(__file__).parent, with_values=with_values)


def cases(entries: Entries, folder: Path) -> list[Case]:
    return recording.cases(entries, "jax", case_of, folder)


def several_calls() -> None:
    key = jax.random.key(0)
    x = jax.random.normal(key, (6, 4))
    w = jax.random.normal(jax.random.PRNGKey(1), (4, 3))

    def loss(w: Any, x: Any) -> Any:
        logits = jax.nn.gelu(x @ w)
        return -jnp.sum(jax.nn.log_softmax(logits, axis=-1)[:, 0]) + 0.1 * jnp.linalg.norm(w)

    jax.jit(jax.value_and_grad(loss))(w, x)
    x.at[jnp.array([0, 2]), 1:].add(0.5)
    jnp.where(x > 0, x, 2 - x).astype(jnp.bfloat16)
    jnp.exp(x.astype("bfloat16"))
    jnp.concatenate([x, x[:2]], axis=0).T.cumsum(0)
    jnp.argsort(x[:, 0])
    jnp.einsum("ij,jk->ik", x, w, precision=jax.lax.Precision.HIGHEST)
    jax.lax.conv_general_dilated(
        jnp.ones((1, 3, 8, 8)), jnp.ones((4, 3, 3, 3)), (1, 1), "SAME",
        dimension_numbers=jax.lax.ConvDimensionNumbers((0, 1, 2, 3), (0, 1, 2, 3), (0, 1, 2, 3)),
    )  # fmt: skip
    jnp.linalg.svd(x)
    jnp.add(np.arange(3.0), 1)
    jax.nn.softmax(jnp.array([[0.0, -jnp.inf], [1.0, 2.0]]))


def test_calls_in_compiled_functions_and_loops_are_told_with_their_count_line_and_gradient() -> None:
    @jax.jit
    def step(x: Any) -> Any:
        total, _ = jax.lax.scan(lambda carry, row: (carry + jnp.tanh(row), None), jnp.zeros(3), x)
        return total.sum()

    x = jnp.ones((5, 3))
    entries = record(lambda: [jax.grad(step)(x * (1.0 + number)) for number in range(2)])
    calls = {entry["function"]: entry for entry in of_kind(entries, CALL)}
    assert calls["jax.numpy.tanh"]["count"] == 10
    assert calls["jax.numpy.tanh"]["arrays"] == [{"dtype": "float32", "shape": [3], "low": 1.0, "high": 1.0}]
    assert calls["jax.numpy.tanh"]["gradient"]["wanted"] == [0]
    assert calls["jax.numpy.zeros"]["gradient"] is None
    ((file, line, _),) = calls["jax.numpy.tanh"]["sites"]
    assert file == Path(__file__).name
    assert "jnp.tanh(row)" in Path(__file__).read_text().splitlines()[line - 1]


def test_from_its_third_call_on_a_compiled_function_runs_compiled_and_counts_as_the_second_did() -> None:
    runs: list[object] = []

    def work() -> None:
        @partial(jax.jit, static_argnames="power")
        def step(x: Any, power: int) -> Any:
            runs.append(x)
            return jnp.tanh(x) ** power + jnp.sum(jnp.array([1.0, 2.0]))

        for number in range(10):
            step(jnp.full((3, 3), float(number)), power=2)
        step(jnp.ones((2, 2)), power=2)
        step(jnp.ones((3, 3)), power=3)
        jax.grad(lambda x: step(x, power=2).sum())(jnp.ones((3, 3)))

    entries = record(work)
    tanh = [entry for entry in of_kind(entries, CALL) if entry["function"] == "jax.numpy.tanh"]
    shapes: dict[tuple[int, ...], int] = {}
    for entry in tanh:
        shape = tuple(entry["arrays"][0]["shape"])
        shapes[shape] = shapes.get(shape, 0) + entry["count"]
    assert shapes == {(3, 3): 12, (2, 2): 1}
    assert any(entry["gradient"] for entry in tanh)
    # Twice as written, once to be traced, once for each other signature, once where a gradient is taken.
    assert len(runs) == 6
    assert counts(entries, CROSSING) == {"jax.numpy.array": 5}


def test_a_number_that_changes_and_a_random_key_do_not_keep_a_function_from_being_compiled() -> None:
    runs: list[object] = []

    def work() -> None:
        @partial(jax.jit, static_argnames="power")
        def step(key: Any, rate: float, power: int) -> Any:
            runs.append(rate)
            return rate * jnp.tanh(jax.random.normal(key, (3,))) ** power

        key = jax.random.key(0)
        for number in range(10):
            key, use = jax.random.split(key)
            step(use, 0.5 / (1 + number), 2)
            step(use, rate=0.5 / (1 + number), power=2)

    assert counts(record(work))["jax.numpy.tanh"] == 20
    # Each of the two signatures twice as written and once to be traced.
    assert len(runs) == 6


def test_of_a_function_with_endless_signatures_a_bounded_number_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled_functions, "MOST_SIGNATURES", 3)
    runs: list[int] = []

    def work() -> None:
        @partial(jax.jit, static_argnums=-1)
        def step(x: Any, number: int) -> Any:
            runs.append(number)
            return jnp.tanh(x)

        x = jnp.ones(3)
        for _ in range(5):
            for number in range(5):
                step(x, number)

    assert counts(record(work))["jax.numpy.tanh"] == 25
    assert [runs.count(number) for number in range(5)] == [3, 3, 3, 5, 5]


def test_a_compiled_method_is_bound_and_keeps_what_jax_offers_of_it() -> None:
    def work() -> None:
        class Model:
            scale = 2.0

            @partial(jax.jit, static_argnums=0)
            def apply(self, x: Any) -> Any:
                return jnp.tanh(x) * self.scale

        model = Model()
        results = [float(model.apply(jnp.ones(3))[0]) for _ in range(4)]
        assert results == [results[0]] * 4
        assert Model.apply.lower(model, jnp.ones(3)).as_text()
        assert jax.jit(static_argnums=1)(lambda x, number: x * number)(jnp.ones(2), 3)[0] == 3.0

    # Once more where it is only lowered.
    assert counts(record(work))["jax.numpy.tanh"] == 5


def test_what_jax_calls_within_a_public_function_is_no_call_of_the_users() -> None:
    assert counts(record(lambda: jax.nn.gelu(jnp.ones(3)))) == {"jax.numpy.ones": 1, "jax.nn.gelu": 1}


def test_functions_that_are_handed_on_are_seen() -> None:
    x = jnp.ones(3)
    entries = record(lambda: [jax.tree.map(jnp.negative, {"a": x, "b": x}), jax.vmap(jnp.sin)(x)])
    assert counts(entries) == {"jax.numpy.negative": 2, "jax.numpy.sin": 1}


def test_everything_is_put_back_after_a_recording() -> None:
    def members() -> list[Any]:
        return [
            jnp.sin,
            jax.Array.__add__,
            type(jnp.ones(1)).__add__,
            type(jnp.ones(1)).sum,
            jax.config.jax_disable_jit,
        ]

    before = members()
    record(lambda: jnp.sin(jnp.ones(1)))
    assert members() == before


def test_members_of_functions_stay_where_they_were() -> None:
    x = jnp.arange(3.0)
    results: list[Any] = []
    record(lambda: results.append(jnp.add.reduce(x)))
    assert results == [3.0]


def test_reads_and_moves_are_crossings() -> None:
    def work() -> None:
        x = jnp.asarray(np.ones(3))
        if x.sum() > 1:
            x[0].item()
        jax.device_get(x)
        float(x[1])

    assert counts(record(work), CROSSING) == {
        "jax.numpy.asarray": 1, "jax.Array.__bool__": 1, "jax.Array.item": 1, "jax.device_get": 1,
        "jax.Array.__float__": 1,
    }  # fmt: skip


def test_what_cannot_be_kept_is_told_with_its_reason_and_goes_on() -> None:
    def work() -> None:
        weak = jnp.exp(2.0)
        jnp.multiply(weak, jnp.ones(2, jnp.bfloat16))
        jnp.ones(2).astype(jnp.float8_e4m3fn).astype(jnp.float32)
        jax.device_put(jnp.ones(2), jax.sharding.SingleDeviceSharding(jax.devices()[0]))

    reasons = {entry["function"]: entry["reason"] for entry in of_kind(record(work), LEFT_OUT)}
    assert reasons == {
        "jax.numpy.multiply": recorder.WEAK,
        "jax.Array.astype": "NumPy has no float8_e4m3fn",
        "jax.device_put": "a SingleDeviceSharding has no written form",
    }


@pytest.mark.parametrize("with_values", [False, True])
def test_replays_are_right_on_the_host(tmp_path: Path, *, with_values: bool) -> None:
    entries = record(several_calls, with_values=with_values)
    assert counts(entries, LEFT_OUT) == {}
    replay_cases = cases(entries, tmp_path)
    assert {case.id.endswith("-gradient") for case in replay_cases} == {True, False}
    assert not_passed(Cpu(), replay_cases) == {}


NOTICED = (
    "jax.Array.__matmul__",
    "jax.Array.at.add",
    "jax.nn.gelu",
    "jax.nn.log_softmax",
    "jax.numpy.where",
    "jax.numpy.exp",
    "jax.random.normal",
    "jax.lax.conv_general_dilated",
)


def test_replays_notice_a_device_that_is_wrong(tmp_path: Path) -> None:
    class Wrong(Cpu):
        def lookup(self, name: str) -> Any:
            function = super().lookup(name)
            return lambda *arguments, **options: function(*arguments, **options) * 1.1

    entries = [entry for entry in record(several_calls) if entry["function"] in NOTICED]
    outcomes = {case.function: run(Wrong(), case).verdict for case in cases(entries, tmp_path)}
    assert outcomes == dict.fromkeys(NOTICED, Verdict.failed)


def test_drawn_values_that_give_no_number_on_the_host_say_nothing_of_the_device(tmp_path: Path) -> None:
    def work() -> None:
        jnp.linalg.cholesky(2.0 * jnp.eye(6))

    (with_drawn_values,) = [case for case in cases(record(work), tmp_path) if "cholesky" in case.id]
    outcome = run(Cpu(), with_drawn_values)
    assert outcome.verdict is Verdict.skipped
    assert "record with --with-values" in str(outcome.evidence and outcome.evidence.reason)
    (with_own_values,) = [case for case in cases(record(work, with_values=True), tmp_path) if "cholesky" in case.id]
    assert run(Cpu(), with_own_values).verdict is Verdict.passed


@pytest.mark.parametrize(
    "function",
    [
        "os.system", "os.mkdir", "builtins.exec", "jax.numpy.save", "jax.numpy.savez", "jax.numpy.load",
        "jax.numpy.fromfile", "jax.numpy.from_dlpack", "jax.numpy.frompyfunc", "jax.numpy.vectorize",
        "jax.numpy.linalg.os.mkdir", "jax.pure_callback", "jax.debug.print", "jax.profiler.start_trace",
        "jax.export.deserialize", "jax.distributed.initialize", "jax.Array.__reduce__", "jax.Array.tobytes",
        "jax.Array.at.apply", "jax.Array.at.__class__", "module_of_the_attack.write",
    ],
)  # fmt: skip
def test_a_recording_calls_nothing_but_what_computes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function: str
) -> None:
    mark = tmp_path / "mark"
    (tmp_path / "module_of_the_attack.py").write_text(f"open({str(mark)!r}, 'w')\nwrite = print\n")
    monkeypatch.syspath_prepend(tmp_path)
    (entry,) = of_kind(record(lambda: jnp.ones(2)), CALL)
    (attack_case,) = cases([attack(entry, function, str(mark))], tmp_path)
    outcome = run(Cpu(), attack_case)
    assert outcome.verdict is Verdict.skipped
    assert "a recording may not make this call" in str(outcome.evidence and outcome.evidence.reason)
    assert not mark.exists()


@pytest.mark.parametrize(
    "name_node",
    [
        {"public": "os.system", "named": 1},
        {"public": "jax.lax.exp", "named": 1},
        {"public": "jax.lax.Precision.__call__", "named": 1},
        {"public": "module_of_the_attack.write", "named": 1},
        {"made": '{"class": "subprocess.Popen", "fields": {"args": "true"}}', "named": 1},
    ],
)
def test_a_recording_hands_no_function_to_one_that_computes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name_node: dict[str, Any]
) -> None:
    mark = tmp_path / "mark"
    (tmp_path / "module_of_the_attack.py").write_text(f"open({str(mark)!r}, 'w')\nwrite = print\n")
    monkeypatch.syspath_prepend(tmp_path)
    (entry,) = of_kind(record(lambda: jnp.ones(2)), CALL)
    call = {"tuple": [[name_node, 3], {"mapping": []}]}
    (attack,) = cases([{**entry, "function": "jax.lax.map", "call": call}], tmp_path)
    outcome = run(Cpu(), attack)
    assert outcome.verdict is Verdict.skipped
    assert "names no function among arguments" in str(outcome.evidence and outcome.evidence.reason)
    assert not mark.exists()
