"""The recorder of torch, in the test process: the reports about calls are right, and replays pass and detect errors."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from protocol.enums import Placement, Verdict
from protocol.recording_format import MAX_VARIANTS
from runners.suite.cases import Case
from runners.suite.device import Device
from runners.suite.recording.book import CALL, CROSSING, LEFT_OUT
from runners.suite.recording.recorder import NO_NAME
from runners.torch import recorder
from runners.torch.devices import Cpu
from runners.torch.replay import case_of
from tests.frameworks.common import recording
from tests.frameworks.common.recording import Entries, counts, not_passed, of_kind
from tests.frameworks.common.running import run


def record(work: Callable[[], object], *, with_values: bool = False) -> Entries:
    return recording.record(recorder.recording, work, folder=Path(__file__).parent, with_values=with_values)


def cases(entries: Entries, folder: Path) -> list[Case]:
    return recording.cases(entries, "torch", case_of, folder)


def several_calls() -> None:
    torch.manual_seed(0)
    x = torch.randn(6, 4)
    weight = torch.nn.Parameter(torch.randn(3, 4))
    mean, variance = torch.zeros(4), torch.ones(4)
    y = F.linear(x, weight)
    loss = F.cross_entropy(y, torch.tensor([0, 1, 2, 0, 1, 2])) + (y * y).mean()
    loss.backward()
    F.batch_norm(x, mean, variance, training=True)
    F.dropout(x, 0.5)
    mask = torch.tensor([True, False, True, False, True, True])
    x[mask] = 0.5
    x[mask, 1:].t().bfloat16().exp()
    x[0].expand(5, 4).cumsum(0)
    F.softmax(torch.tensor([[0.0, float("-inf")], [1.0, 2.0]]), dim=-1)
    torch.topk(torch.tensor([1.0, 1.0, 0.0]), 2)
    torch.where(x > 0, x, 2 - x).sort(stable=True)
    torch.complex(x, x).abs()
    x.add_(x, alpha=2)
    torch.linalg.svd(x)


def test_calls_are_told_with_their_count_line_and_backward_pass() -> None:
    def work() -> None:
        x = torch.ones(3, device="cpu", requires_grad=True)
        for number in range(5):
            y = torch.cumsum(x * (0.5 + number), 0)
        y.sum().backward()

    entries = record(work)
    assert counts(entries) == {
        "torch.ones": 1, "torch.Tensor.mul": 5, "torch.cumsum": 5, "torch.Tensor.sum": 1, "torch.ones_like": 1,
    }  # fmt: skip
    calls = {entry["function"]: entry for entry in of_kind(entries, CALL)}
    ((file, line, _),) = calls["torch.cumsum"]["sites"]
    assert file == Path(__file__).name
    assert "torch.cumsum(x *" in Path(__file__).read_text().splitlines()[line - 1]
    assert calls["torch.cumsum"]["gradient"]["wanted"] == [0]
    assert calls["torch.ones"]["gradient"] is None


def test_a_repeated_call_is_counted_at_the_line_that_made_it() -> None:
    layer, x = torch.nn.Linear(3, 3), torch.ones(3)

    def work() -> None:
        for _ in range(3):
            torch.sin(x)
            torch.sin(x)
            layer(x)
        layer(x)

    first = work.__code__.co_firstlineno
    sites = {entry["function"]: entry["sites"] for entry in of_kind(record(work), CALL)}
    lines = {name: [[line - first, count] for _, line, count in places] for name, places in sites.items()}
    assert lines["torch.sin"] == [[2, 3], [3, 3]]
    assert lines["torch.nn.functional.linear"] == [[4, 3], [5, 1]]


def test_arrays_with_other_strides_make_another_call() -> None:
    x = torch.ones(3, 3, 3)
    arrays = (x, x.transpose(0, 1), x.transpose(1, 2), x.clone(), x.transpose(0, 1))
    entries = of_kind(record(lambda: list(map(torch.sin, arrays))), CALL)
    strides = [entry["call"]["tuple"][0][0].get("strides") for entry in entries]
    assert strides == [None, [3, 9, 1], [9, 1, 3]]
    assert [entry["count"] for entry in entries] == [2, 2, 1]


def test_what_changes_and_what_is_random_is_noticed_whether_torch_counts_it_or_not() -> None:
    calls = {entry["function"]: entry for entry in of_kind(record(several_calls), CALL)}
    assert calls["torch.nn.functional.batch_norm"]["changes"] == [1, 2]
    assert calls["torch.Tensor.__setitem__"]["changes"] == [0]
    assert calls["torch.Tensor.add_"]["changes"] == [0]
    assert {name for name, call in calls.items() if call["is_random"]} == {"torch.nn.functional.dropout"}


def test_reads_and_moves_are_crossings() -> None:
    def work() -> None:
        x = torch.ones(3).to("cpu")
        if x.sum() > 1:
            x.sum().item()
        x.cpu().numpy()

    assert counts(record(work), CROSSING) == {
        "torch.Tensor.to": 1, "torch.Tensor.__bool__": 1, "torch.Tensor.item": 1, "torch.Tensor.cpu": 1,
        "torch.Tensor.numpy": 1,
    }  # fmt: skip


def test_a_number_that_counts_steps_does_not_fill_the_memory() -> None:
    x = torch.ones(2)
    entries = record(lambda: [x.add(number) for number in range(3 * MAX_VARIANTS)])
    assert len(of_kind(entries, CALL)) == MAX_VARIANTS
    assert counts(entries, LEFT_OUT) == {"torch.Tensor.add": 2 * MAX_VARIANTS}


def test_what_cannot_be_kept_is_told_with_its_reason_and_goes_on() -> None:
    class Own(torch.Tensor):
        pass

    def work() -> None:
        x = torch.ones(2, 2)
        torch.add(x, x, out=torch.empty(2, 2))
        torch._foreach_add([x], 1.0)
        torch.sin(x.as_subclass(Own))
        torch.mm(x.to_sparse(), x)

    reasons = {entry["function"]: entry["reason"] for entry in of_kind(record(work), LEFT_OUT)}
    assert reasons["torch.add"] == recorder.OUT
    assert reasons["_foreach_add"] == NO_NAME
    assert reasons["torch.sin"] == recorder.OWN_CLASS
    assert "sparse" in reasons["torch.mm"]
    assert reasons["torch.ones"] == recorder.ON_HOST


def test_functions_that_are_new_for_each_call_are_not_all_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "MOST_FUNCTIONS", 10)
    alive: weakref.WeakSet[Callable[..., object]] = weakref.WeakSet()

    def work() -> None:
        tensor = torch.ones(3)
        for number in range(MAX_VARIANTS + 1_000):

            def scaled(tensor: Any, number: int = number) -> Any:
                return tensor * number

            alive.add(scaled)
            torch.overrides.handle_torch_function(scaled, (tensor,), tensor)
        del scaled
        gc.collect()
        assert len(alive) <= MAX_VARIANTS + 10

    record(work)


def test_a_thread_that_the_program_starts_is_recorded_too() -> None:
    x = torch.ones(2)

    def work() -> None:
        thread = threading.Thread(target=lambda: torch.sin(x))
        thread.start()
        thread.join()

    assert counts(record(work)) == {"torch.sin": 1}


def test_functions_that_a_backward_pass_calls_are_recorded() -> None:
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(context: Any, x: torch.Tensor) -> torch.Tensor:
            return x * 2

        @staticmethod
        def backward(context: Any, gradient: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
            return torch.mul(gradient, 2)

    x = torch.ones(2, requires_grad=True)
    assert "torch.mul" in counts(record(lambda: Twice.apply(x).sum().backward()))


@pytest.mark.parametrize("with_values", [False, True])
def test_replays_are_right_on_the_host(tmp_path: Path, *, with_values: bool) -> None:
    replay_cases = cases(record(several_calls, with_values=with_values), tmp_path)
    assert {case.id.endswith("-gradient") for case in replay_cases} == {True, False}
    assert not_passed(Cpu(), replay_cases) == {}


def test_a_change_of_a_slice_is_replayed_as_the_program_makes_it(tmp_path: Path, xla: Device) -> None:
    def work() -> None:
        grid = torch.ones(4, 4, 2, dtype=torch.int64)
        grid[:, :, 0].add_(1)
        columns = torch.ones(3, 4)[:, 1:3]
        columns.mul_(3).t().add_(1)

    replay_cases = [case for case in cases(record(work), tmp_path) if case.in_place]
    outcomes = {case.id: run(xla, case) for case in replay_cases}
    assert len(outcomes) == 3
    assert {outcome.verdict for outcome in outcomes.values()} == {Verdict.passed}
    assert {outcome.placement for outcome in outcomes.values()} == {Placement.on_device}


def test_replays_notice_a_device_that_is_wrong(tmp_path: Path) -> None:
    class Wrong(Cpu):
        def lookup(self, name: str) -> Any:
            function = super().lookup(name)
            return lambda *arguments, **options: spoil(function(*arguments, **options))

    def spoil(result: Any) -> Any:
        if not isinstance(result, torch.Tensor):
            return result
        return ~result if result.dtype is torch.bool else result * 1.1

    entries = [entry for entry in record(several_calls) if entry["function"] in NOTICED]
    outcomes = {case.function: run(Wrong(), case).verdict for case in cases(entries, tmp_path)}
    assert outcomes == dict.fromkeys(NOTICED, Verdict.failed)


NOTICED = (
    "torch.nn.functional.linear",
    "torch.nn.functional.cross_entropy",
    "torch.nn.functional.batch_norm",
    "torch.nn.functional.softmax",
    "torch.Tensor.cumsum",
    "torch.Tensor.exp",
    "torch.Tensor.gt",
    "torch.Tensor.abs",
)


def test_a_call_that_the_host_refuses_with_drawn_values_says_nothing_of_the_device(tmp_path: Path) -> None:
    def work() -> None:
        torch.linalg.cholesky(torch.tensor([[2.0, 1.0], [1.0, 2.0]]))

    class Accepting(Cpu):
        def lookup(self, name: str) -> Any:
            return lambda matrix: matrix

    (with_drawn_values,) = [case for case in cases(record(work), tmp_path) if "cholesky" in case.id]
    outcome = run(Accepting(), with_drawn_values)
    assert outcome.verdict is Verdict.skipped
    assert outcome.evidence is not None
    assert "record with --with-values" in str(outcome.evidence.reason)
    (with_own_values,) = [case for case in cases(record(work, with_values=True), tmp_path) if "cholesky" in case.id]
    assert run(Cpu(), with_own_values).verdict is Verdict.passed


@pytest.mark.parametrize(
    ("function", "argument"),
    [
        ("os.system", "touch {}"),
        ("os.mkdir", "{}"),
        ("torch.serialization.os.mkdir", "{}"),
        ("torch.from_file", "{}"),
        ("torch.load", "{}"),
        ("torch.hub.load", "{}"),
        ("torch.ops.load_library", "{}"),
        ("torch.Tensor.__reduce_ex__", "{}"),
        ("torch.Tensor.numpy", "{}"),
        ("torch._C._foreach_add", "{}"),
        ("builtins.exec", "open('{}', 'w')"),
        ("module_of_the_attack.write", "{}"),
    ],
)
def test_a_recording_calls_nothing_but_what_computes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function: str, argument: str
) -> None:
    mark = tmp_path / "mark"
    (tmp_path / "module_of_the_attack.py").write_text(f"open({str(mark)!r}, 'w')\nwrite = print\n")
    monkeypatch.syspath_prepend(tmp_path)
    (entry,) = of_kind(record(lambda: torch.ones(2, device="cpu")), CALL)
    call = {"tuple": [[argument.format(mark)], {"mapping": []}]}
    (attack,) = cases([{**entry, "function": function, "call": call}], tmp_path)
    outcome = run(Cpu(), attack)
    assert outcome.verdict is Verdict.skipped
    assert "a recording may not make this call" in str(outcome.evidence and outcome.evidence.reason)
    assert not mark.exists()


def test_a_recording_hands_no_function_to_one_that_computes(tmp_path: Path) -> None:
    (entry,) = of_kind(record(lambda: torch.ones(2, device="cpu")), CALL)
    options = {"mapping": [["distance_function", {"function": "save", "named": 1}]]}
    call = {"tuple": [["a", "b", "c"], options]}
    function = "torch.nn.functional.triplet_margin_with_distance_loss"
    (attack,) = cases([{**entry, "function": function, "call": call}], tmp_path)
    outcome = run(Cpu(), attack)
    assert outcome.verdict is Verdict.skipped
    assert "names no function among arguments" in str(outcome.evidence and outcome.evidence.reason)


def chosen_by_device() -> None:
    """Counts the tokens of each expert, like Mixtral in the package transformers."""
    experts = torch.tensor([0, 2, 2, 1])
    numbers = experts.float() if experts.device.type == "cpu" else experts.int()
    counts = torch.histc(numbers, bins=3, min=0, max=2)
    places = torch.arange(3, device=counts.device)
    torch.zeros(3).to(experts.device).add_(places)
    assert counts.tolist() == [1, 1, 2]
    assert (numbers.is_cuda, numbers.is_xla) == (False, numbers.device.type == "xla")


@pytest.mark.parametrize(("target", "dtype"), [(None, "float32"), ("xla", "int32")])
def test_a_branch_on_the_device_of_an_array_is_taken_as_on_the_target(target: str | None, dtype: str) -> None:
    entries = recording.record(recorder.recording, chosen_by_device, folder=Path(__file__).parent, target=target)
    calls = {entry["function"]: entry for entry in of_kind(entries, CALL)}
    (array,) = calls["torch.histc"]["arrays"]
    assert array["dtype"] == dtype
    # What is made on the device by its name is there, as what is moved to it.
    assert {"torch.arange", "torch.Tensor.add_"} <= calls.keys()
    assert counts(entries, CROSSING)["torch.Tensor.to"] == 1


def test_a_call_that_names_the_device_is_the_one_that_names_the_host() -> None:
    def work() -> None:
        for device in (torch.device("xla"), torch.device("cpu"), "xla"):
            torch.ones(3, device=device)

    entries = recording.record(recorder.recording, work, folder=Path(__file__).parent, target="xla")
    assert [entry["count"] for entry in of_kind(entries, CALL)] == [3]


def test_what_reads_memory_sees_where_it_is_whatever_arrays_say(tmp_path: Path) -> None:
    def work() -> None:
        x = torch.arange(6.0).reshape(2, 3)
        assert x.device == torch.device("xla:0")
        assert np.asarray(x).sum() == torch.from_numpy(x.numpy()).sum().item() == 15
        torch.save(x, tmp_path / "x.pt")
        assert torch.equal(torch.load(tmp_path / "x.pt"), x)
        assert "device" not in repr(x)
        layer = torch.nn.Linear(3, 2).to("xla")
        assert next(layer.parameters()).device.type == "xla"
        layer(x).sum().backward()
        with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
            x @ x

    entries = recording.record(recorder.recording, work, folder=Path(__file__).parent, target="xla")
    assert counts(entries)["torch.nn.functional.linear"] == 1
    assert torch.ones(1).device == torch.device("cpu")
