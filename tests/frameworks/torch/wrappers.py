"""Makes classes wrong whose instances do the work, and methods, because they are no plain functions.

Each wrapper makes one kind wrong and is chosen by ``wrapper_of``. A class becomes a subclass of itself, so that it
still builds, loads and nests as before. For a method that works in place, the mutant gets the list of changed objects
as the result, and this list from before the call as the argument.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch.distributions import Distribution
from torch.optim.lr_scheduler import LRScheduler
from torch.utils.data import Dataset

from tests.frameworks.common.mutants import Mutant

Wrapper = Callable[[Any, Mutant], Any]


def wrapper_of(function: Any) -> Wrapper | None:
    """The wrapper for a class or an in-place method; None for a plain function."""
    if isinstance(function, type):
        return next((wrapper for base, wrapper in CLASSES.items() if issubclass(function, base)), None)
    return METHODS.get(getattr(function, "__qualname__", ""))


def forward_swapped(module: Any, mutant: Mutant) -> Any:
    class Altered(module):
        def forward(self, *arguments: Any, **options: Any) -> Any:
            return mutant(super().forward(*arguments, **options), arguments, options)

    return Altered


def step_swapped(optimizer: Any, mutant: Mutant) -> Any:
    """Alter the parameters after each step."""

    class Altered(optimizer):
        def step(self, closure: Any = None) -> Any:
            parameters = [param for group in self.param_groups for param in group["params"]]
            before = [parameter.detach().clone() for parameter in parameters]
            result = super().step(closure)
            after = [parameter.detach().clone() for parameter in parameters]
            for parameter, value in zip(parameters, mutant(after, (before,), {}), strict=True):
                parameter.data = value
            return result

    return Altered


def rates_swapped(scheduler: Any, mutant: Mutant) -> Any:
    """Alter the learning rates after each step."""

    class Altered(scheduler):
        def step(self, epoch: Any = None) -> None:
            before = [_copy(group["lr"]) for group in self.optimizer.param_groups]
            super().step()
            after = [_copy(group["lr"]) for group in self.optimizer.param_groups]
            for group, rate in zip(self.optimizer.param_groups, mutant(after, (before,), {}), strict=True):
                group["lr"] = rate
            self._last_lr = [group["lr"] for group in self.optimizer.param_groups]

    return Altered


def _copy(rate: Any) -> Any:
    return rate.clone() if isinstance(rate, torch.Tensor) else rate


def density_swapped(distribution: Any, mutant: Mutant) -> Any:
    class Altered(distribution):
        def log_prob(self, value: Any) -> Any:
            return mutant(super().log_prob(value), (value,), {})

    return Altered


def rows_swapped(dataset: Any, mutant: Mutant) -> Any:
    """Alter the values that an index returns, from the class itself or from classes derived from the bare base."""

    def reading(read: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        return lambda self, row: mutant(read(self, row), (row,), {})

    class Altered(dataset):
        def __init_subclass__(cls, **options: Any) -> None:
            super().__init_subclass__(**options)
            if dataset is Dataset and "__getitem__" in vars(cls):
                cls.__getitem__ = reading(cls.__getitem__)

    if dataset is not Dataset:
        for method in ("__getitem__", "__getitems__"):
            if hasattr(dataset, method):
                setattr(Altered, method, reading(getattr(dataset, method)))
    return Altered


def gradients_swapped(zero_grad: Any, mutant: Mutant) -> Any:
    def alter_gradients(module: Any, *arguments: Any, **options: Any) -> None:
        parameters = list(module.parameters())
        before = [_clone(parameter.grad) for parameter in parameters]
        zero_grad(module, *arguments, **options)
        after = [_clone(parameter.grad) for parameter in parameters]
        for parameter, gradient in zip(parameters, mutant(after, (before,), {}), strict=True):
            parameter.grad = gradient

    return alter_gradients


def _clone(array: Any) -> Any:
    return None if array is None else array.detach().clone()


def statistics_swapped(reset: Any, mutant: Mutant) -> Any:
    """Alter the buffers of a layer, which the call resets."""

    def alter_statistics(layer: Any) -> None:
        before = [buffer.clone() for buffer in layer.buffers()]
        reset(layer)
        names = [name for name, _ in layer.named_buffers()]
        after = [buffer.clone() for buffer in layer.buffers()]
        for name, value in zip(names, mutant(after, (before,), {}), strict=True):
            setattr(layer, name, value)

    return alter_statistics


def registration_swapped(register: Any, mutant: Mutant) -> Any:
    """Alter the parameters that the call adds to a module. The unchanged argument means that it adds none."""

    def alter_registration(module: Any, name: str, new_parameter: Any) -> None:
        before = {id(parameter) for parameter in module.parameters()}
        register(module, name, new_parameter)
        new_parameters = [parameter for parameter in module.parameters() if id(parameter) not in before]
        values = mutant([parameter.detach().clone() for parameter in new_parameters], ([],), {})
        if not values:
            delattr(module, name)
        for parameter, value in zip(new_parameters, values, strict=False):
            parameter.data = value

    return alter_registration


CLASSES: Mapping[type, Wrapper] = {
    torch.nn.Module: forward_swapped,
    torch.optim.Optimizer: step_swapped,
    LRScheduler: rates_swapped,
    Distribution: density_swapped,
    Dataset: rows_swapped,
}
METHODS: Mapping[str, Wrapper] = {
    "Module.zero_grad": gradients_swapped,
    "Module.add_module": registration_swapped,
    "Module.register_parameter": registration_swapped,
    "_NormBase.reset_running_stats": statistics_swapped,
}
