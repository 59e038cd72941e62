"""PyTorch's own samples of modules and optimizers: ModuleInfo and OptimizerInfo.

``modules.json`` beside this file contains the samples with which PyTorch tests itself: constructor options, and the
shapes of the arguments of ``forward``. Floating values are drawn from the case's seed. Masks, indices and other values
that decide a result are stored as they are. So the suite is the same for every version of torch, and running cases does
not import ``torch.testing``. The file names the version of torch from which it was taken. To take the samples again:
``python -m runners.torch.suites.paper.library_modules``.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from runners.suite.cases import Function, Inputs, MakeArguments
from runners.suite.checks import Tolerance

DATA = Path(__file__).with_name("modules.json")
MODULES = (
    "AdaptiveAvgPool3d",
    "BCEWithLogitsLoss",
    "Conv2d",
    "Conv3d",
    "GELU",
    "KLDivLoss",
    "LSTMCell",
    "Linear",
    "SmoothL1Loss",
    "Transformer",
    "TransformerEncoderLayer",
)
OPTIMIZERS = ("Adamax", "LBFGS", "Rprop")


@dataclass(frozen=True)
class ModuleSample:
    """One ModuleInput: the ``options`` of the constructor, and the arguments of ``forward``."""

    name: str
    options: dict[str, Any]
    arrays: dict[str, Any]
    """Stored arrays among the constructor's options."""
    positional: tuple[Any, ...]
    named: dict[str, Any]

    def constants(self, inputs: Inputs) -> dict[str, Any]:
        """Make the arrays among the constructor's options."""
        return {name: _array(stored, inputs) for name, stored in self.arrays.items()}

    def arguments(self, inputs: Inputs) -> list[Any]:
        """Make the positional arguments of ``forward``, with arrays from ``inputs``."""
        return [_array(stored, inputs) for stored in self.positional]

    def keywords(self, inputs: Inputs) -> dict[str, Any]:
        return {name: _array(stored, inputs) for name, stored in self.named.items()}


@dataclass(frozen=True)
class OptimizerSample:
    """One OptimizerInput: the options of the constructor."""

    name: str
    options: dict[str, Any]


def add_cases(
    function: Function,
    arguments: Callable[[Inputs, ModuleSample], Sequence[Any]],
    *,
    every: int = 1,
    tolerance: Tolerance | None = None,
) -> None:
    """Add a value case for each sample, or for every n-th sample if PyTorch has samples for all combinations of
    options."""
    for sample in samples(function.name)[::every]:
        function.value(sample.name, _bound(arguments, sample), tolerance=tolerance, **sample.options)


def _bound(arguments: Callable[[Inputs, ModuleSample], Sequence[Any]], sample: ModuleSample) -> MakeArguments:
    return lambda inputs: arguments(inputs, sample)


def samples(function: str) -> list[ModuleSample]:
    """Return the samples of a module (``torch.nn.GroupNorm``)."""
    return [
        ModuleSample(
            name=f"library-{place}{_slug(sample['description'])}",
            options={key: _value(value) for key, value in sample["options"].items()},
            arrays=sample["arrays"],
            positional=tuple(sample["positional"]),
            named=sample["named"],
        )
        for place, sample in enumerate(_data()["modules"][function])
    ]


def optimizer_samples(function: str) -> list[OptimizerSample]:
    return [
        OptimizerSample(
            name=f"library-{place}{_slug(sample['description'])}",
            options={key: _value(value) for key, value in sample["options"].items()},
        )
        for place, sample in enumerate(_data()["optimizers"][function])
    ]


@cache
def _data() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(DATA.read_text())
    return loaded


def _slug(description: str) -> str:
    words = "".join(letter if letter.isalnum() else " " for letter in description.lower()).split()
    return "".join(f"-{word}" for word in words)


def _value(stored: Any) -> Any:
    return tuple(stored) if isinstance(stored, list) else stored


def _array(stored: Any, inputs: Inputs) -> Any:
    if not isinstance(stored, dict):
        return stored
    if "values" in stored:
        return np.array(stored["values"], dtype=stored["dtype"])
    return inputs.normal(*stored["shape"])


def extract() -> dict[str, Any]:
    """Take the samples from the installed torch."""
    import torch
    from torch.testing._internal.common_modules import module_db
    from torch.testing._internal.common_optimizers import optim_db

    modules = {
        f"torch.nn.{info.module_cls.__name__}": [
            _module_sample(info.module_cls, sample)
            for sample in info.module_inputs_func(
                info, device="cpu", dtype=torch.float32, requires_grad=False, training=True
            )
        ]
        for info in module_db
        if info.module_cls.__module__.startswith("torch.nn.") and info.module_cls.__name__ in MODULES
    }
    optimizers = {
        f"torch.optim.{info.optim_cls.__name__}": [
            {"description": sample.desc, "options": {key: _plain(value) for key, value in sample.kwargs.items()}}
            for sample in info.optim_inputs_func(device="cpu")
            # An array among the options (a learning rate) would have to be moved. Such cases are handwritten.
            if not any(isinstance(value, torch.Tensor) for value in sample.kwargs.values())
        ]
        for info in optim_db
        if info.optim_cls.__name__ in OPTIMIZERS
    }
    return {"torch": torch.__version__.split("+")[0], "modules": modules, "optimizers": optimizers}


def _module_sample(module: type, sample: Any) -> dict[str, Any]:
    constructor = sample.constructor_input
    options = inspect.signature(module).bind(*constructor.args, **constructor.kwargs).arguments
    plain = {name: _plain(value) for name, value in options.items()}
    forward = inspect.signature(module.forward).bind_partial(  # type: ignore[attr-defined]
        None, *sample.forward_input.args, **sample.forward_input.kwargs
    )
    given = {name: value for name, value in forward.arguments.items() if name != "self" and value is not None}
    positional = {name: value for name, value in given.items() if not name.endswith("mask")}
    return {
        "description": sample.desc,
        "options": {name: value for name, value in plain.items() if not isinstance(value, dict)},
        "arrays": {name: value for name, value in plain.items() if isinstance(value, dict)},
        "positional": [_plain(member) for value in positional.values() for member in _flat(value)],
        "named": {name: _plain(value) for name, value in given.items() if name not in positional},
    }


def _flat(value: Any) -> Iterator[Any]:
    if isinstance(value, (list, tuple)):
        for member in value:
            yield from _flat(member)
    else:
        yield value


def _plain(value: Any) -> Any:
    """Return a value as JSON: a floating array as its shape, any other array with its values."""
    import torch

    if isinstance(value, torch.Tensor):
        if value.is_floating_point():
            return {"shape": list(value.shape)}
        return {"values": value.tolist(), "dtype": str(value.dtype).removeprefix("torch.")}
    if callable(value):
        return value.__name__
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(member) for member in value]
    return value


def _text(found: dict[str, Any]) -> str:
    """Write one sample per line, which keeps diffs between versions readable."""
    groups = [
        f"{json.dumps(group)}: {{\n"
        + ",\n".join(
            f" {json.dumps(name)}: [\n" + ",\n".join(f"  {json.dumps(entry)}" for entry in entries) + "\n ]"
            for name, entries in found[group].items()
        )
        + "\n}"
        for group in ("modules", "optimizers")
    ]
    return f'{{"torch": {json.dumps(found["torch"])},\n' + ",\n".join(groups) + "}\n"


def main() -> None:
    found = extract()
    DATA.write_text(_text(found))
    count = sum(len(entries) for group in ("modules", "optimizers") for entries in found[group].values())
    print(f"{DATA.name}: {count} samples of torch {found['torch']}")


if __name__ == "__main__":
    main()
