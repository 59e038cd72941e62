"""PyTorch's own samples: the inputs with which PyTorch tests its operators (OpInfo).

``samples.json`` beside this file contains them. They were taken once, from the version of torch that the file names. So
the suite is the same for every version, and running cases does not import torch's testing code, which would take
seconds and might initialize CUDA. To take them again: ``python -m runners.torch.suites.paper.library``.

Shapes, arguments and options are PyTorch's own, and so are the values of small arrays. The values of large arrays are
drawn from the case's seed. Memory layout is not kept. Samples with an array among the keyword arguments are left out,
because the options of a case are plain values.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from runners.suite.cases import Inputs

SAMPLES = Path(__file__).with_name("samples.json")
MOST_SAMPLES = 6
"""The maximum number of samples of one operator. If PyTorch has more, these are the first and others that were drawn at
random."""
MOST_VALUES = 400
"""The maximum number of elements of an array whose values are kept."""

DERIVED: Mapping[str, str] = {
    "addr": "float32",
    "argsort": "float32",
    "bitwise_not": "int64",
    "broadcast_tensors": "float32",
    "cat": "float32",
    "diag": "float32",
    "fliplr": "float32",
    "linalg.matrix_rank": "float32",
    "linalg.matrix_rank.hermitian": "float32",
    "linalg.slogdet": "float32",
    "log1p": "float32",
    "lt": "float32",
    "movedim": "float32",
    "ormqr": "float32",
    "round.decimals_3": "float32",
    "round.decimals_neg_3": "float32",
    "sum": "float32",
    "triangular_solve": "float32",
    "unbind": "float32",
    "unsqueeze": "float32",
}
"""The operators whose samples are taken, with the dtype of the samples. An operator has PyTorch's name, with its
variant."""


@dataclass(frozen=True)
class Sample:
    """One call from PyTorch's tests: positional arguments as stored, and keyword arguments."""

    number: int
    arguments: Sequence[Any]
    options: Mapping[str, Any]

    @property
    def name(self) -> str:
        return f"library-{self.number}"

    def inputs(self, inputs: Inputs) -> Sequence[Any]:
        return [_restored(argument, inputs) for argument in self.arguments]


def samples(operator: str) -> Iterator[Sample]:
    """Yield the stored samples of ``operator`` (``argsort``, ``linalg.matrix_rank.hermitian``)."""
    for number, stored in _stored()[operator].items():
        yield Sample(int(number), stored["arguments"], stored["options"])


@cache
def _stored() -> Mapping[str, Any]:
    read: Mapping[str, Any] = json.loads(SAMPLES.read_text())["samples"]
    return read


def _restored(stored: Any, inputs: Inputs) -> Any:
    if isinstance(stored, list):
        return [_restored(argument, inputs) for argument in stored]
    if not isinstance(stored, Mapping):
        return stored
    shape = tuple(stored["shape"])
    if "values" in stored:
        dtype = "float64" if stored["dtype"].startswith("float") else stored["dtype"]
        return np.asarray(stored["values"], dtype=dtype).reshape(shape)
    if stored["dtype"].startswith("float"):
        return inputs.distinct(*shape) / 8
    return inputs.booleans(*shape) if stored["dtype"] == "bool" else inputs.integers(*shape, dtype=stored["dtype"])


def extract() -> dict[str, Any]:
    """Make the content of ``samples.json`` from the installed torch."""
    import torch
    from torch.testing._internal.common_methods_invocations import op_db

    torch.manual_seed(0)
    found = {f"{op.name}.{op.variant_test_name}".rstrip("."): op for op in op_db}
    version = torch.__version__.split("+")[0]
    return {
        "torch": version,
        "samples": {
            name: _drawn(found[name].sample_inputs("cpu", getattr(torch, dtype)), partial(_plain, torch))
            for name, dtype in DERIVED.items()
        },
    }


def _drawn(all_samples: Iterator[Any], plain: Callable[[Any], Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for number, sample in enumerate(all_samples):
        stored = {"arguments": plain([sample.input, *sample.args]), "options": plain(sample.kwargs)}
        if stored not in kept.values() and not any(isinstance(option, dict) for option in stored["options"].values()):
            kept[str(number)] = stored
    first, *others = kept
    if len(kept) > MOST_SAMPLES:
        others = np.random.default_rng(0).choice(others, MOST_SAMPLES - 1, replace=False).tolist()
    return {number: kept[number] for number in sorted([first, *others], key=int)}


def _plain(torch: Any, value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        stored = {"dtype": str(value.dtype).removeprefix("torch."), "shape": list(value.shape)}
        if value.numel() <= MOST_VALUES:
            stored["values"] = value.detach().flatten().tolist()
        return stored
    if isinstance(value, (list, tuple)):
        return [_plain(torch, member) for member in value]
    if isinstance(value, Mapping):
        return {key: _plain(torch, member) for key, member in value.items()}
    if value is None or isinstance(value, (bool, int, float)):
        return value
    raise TypeError(f"{value!r} cannot be stored: leave its operator out of DERIVED")


def _written(content: Mapping[str, Any]) -> str:
    """Write JSON with one sample per line, which keeps diffs readable."""
    operators = [
        f"{json.dumps(operator)}: {{\n"
        + ",\n".join(f'  "{number}": {json.dumps(sample)}' for number, sample in stored.items())
        + "\n}"
        for operator, stored in content["samples"].items()
    ]
    return f'{{"torch": {json.dumps(content["torch"])}, "samples": {{\n' + ",\n".join(operators) + "\n}}\n"


if __name__ == "__main__":
    SAMPLES.write_text(_written(extract()))
    print(f"wrote {SAMPLES}")
