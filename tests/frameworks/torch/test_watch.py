"""A watch changes nothing, neither during a call nor afterwards."""

from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from runners.suite.device import Device, Proof
from tests.frameworks.common import promises


def _save(x: Any) -> Any:
    file = io.BytesIO()
    torch.save(x, file)
    file.seek(0)
    return torch.load(file).tolist()


READS: dict[str, Callable[[Any], Any]] = {
    "numpy": lambda x: x.numpy(force=True),
    "asarray": lambda x: np.asarray(x.cpu()),
    "frombuffer": lambda x: np.frombuffer(x.cpu().numpy(), "float32"),
    "tolist": lambda x: x.tolist(),
    "dlpack": lambda x: np.from_dlpack(x.cpu()),
    "pickle": lambda x: pickle.loads(pickle.dumps(x)).tolist(),
    "saved": _save,
    "copy": lambda x: copy.deepcopy(x).tolist(),
    "repr": repr,
    "iteration": lambda x: [float(number) for number in x],
    "copied into the host": lambda x: torch.empty(3).copy_(x).tolist(),
    "type": lambda x: x.type(torch.DoubleTensor).tolist(),
    "made": lambda x: torch.tensor(x.tolist(), device=x.device).tolist(),
}
REFUSED: dict[str, Callable[[Any], Any]] = {
    "item of many": lambda x: x.item(),
    "bool of many": bool,
    "memoryview": memoryview,
    "a place of a float": lambda x: [1, 2][x[0]],
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_a_read_gives_what_it_gives_unwatched(xla: Device, read: Callable[[Any], Any]) -> None:
    x = torch.tensor([1.5, -2.5, 3.25]).to(xla.handle)
    before = read(x)
    with xla.counting(Proof()):
        after_count = read(x)
    with xla.tracing(Proof()):
        after_trace = read(x)
    for after in (after_count, after_trace):
        assert type(after) is type(before)
        np.testing.assert_array_equal(after, before)


@pytest.mark.parametrize("read", REFUSED.values(), ids=REFUSED)
def test_what_is_refused_is_refused_by_the_same_error(xla: Device, read: Callable[[Any], Any]) -> None:
    x = torch.tensor([1.5, -2.5, 3.25]).to(xla.handle)
    with pytest.raises(Exception) as before:
        read(x)
    with xla.counting(Proof()), pytest.raises(before.type) as error:
        read(x)
    assert str(error.value) == str(before.value)


def test_what_torch_remembers_of_its_functions_is_right_although_it_first_looks_while_they_are_watched() -> None:
    code = "from tests.frameworks.torch.first_use import main; main()"
    assert promises.in_a_process(code) == "True meta [3.0, 3.0] True"
