"""Examples from torch's docstrings: the names that they can use, the settings that they may change, and how they are
forced onto a device.

With torch's default device, every function that creates an array creates it there. Exceptions are the constructors of
types (``torch.Tensor``, ``torch.FloatTensor``) and functions that use NumPy's memory; their results are moved.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from runners.suite.cases import Context
from runners.suite.examples import Setting, Text, no_plain_form
from runners.suite.frozen_example import FrozenExample

MOVED = "__moved__"
"""The name of the helper that moves an array to the device."""
UNFORCED = frozenset(
    {
        "BFloat16Tensor", "BoolTensor", "ByteTensor", "CharTensor", "DoubleTensor", "FloatTensor", "HalfTensor",
        "IntTensor", "LongTensor", "ShortTensor", "Tensor", "from_numpy", "frombuffer", "from_dlpack",
    }
)  # fmt: skip
"""Torch functions that create an array on the host regardless of the default device."""


class _Moving(ast.NodeTransformer):
    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        called = node.func
        if not isinstance(called, ast.Attribute) or called.attr not in UNFORCED:
            return node
        is_torchs = isinstance(called.value, ast.Name) and called.value.id == "torch"
        return ast.Call(ast.Name(MOVED, ast.Load()), [node], []) if is_torchs else node


class TorchDialect:
    """The torch-specific part of running docstring examples."""

    def names(self, device: Any) -> Mapping[str, Any]:
        import torch
        from torch import nn, optim

        return {
            "torch": torch,
            "nn": nn,
            "F": nn.functional,
            "optim": optim,
            "Tensor": torch.Tensor,
            "math": math,
            MOVED: lambda array: array.to(device),
        }

    @contextmanager
    def forced(self, device: Any) -> Iterator[None]:
        """Set the default device, and restore it afterwards. A scope of torch cannot be used instead, because it must
        not end inside another scope that the example has entered."""
        import torch

        torch.set_default_device(device)
        yield

    def rewritten(self, tree: ast.Module) -> ast.Module:
        moving: ast.Module = _Moving().visit(tree)
        return moving

    def settings(self) -> Sequence[Setting]:
        import torch

        printing = torch._tensor_str.PRINT_OPTS
        return [
            Setting("the default dtype", torch.get_default_dtype, torch.set_default_dtype),
            Setting("the default device", _default_device, torch.set_default_device),
            Setting("whether gradients are recorded", torch.is_grad_enabled, torch.set_grad_enabled),
            Setting("the search for anomalies", torch.is_anomaly_enabled, torch.set_anomaly_enabled),
            Setting(
                "deterministic algorithms",
                torch.get_deterministic_debug_mode,
                torch.set_deterministic_debug_mode,
            ),
            Setting(
                "the precision of products", torch.get_float32_matmul_precision, torch.set_float32_matmul_precision
            ),
            Setting("the number of threads", torch.get_num_threads, torch.set_num_threads),
            Setting("warnings", torch.is_warn_always_enabled, torch.set_warn_always),
            Setting("the form of printing", lambda: dict(vars(printing)), lambda before: vars(printing).update(before)),
            Setting(
                "how parameters are loaded",
                torch.__future__.get_overwrite_module_params_on_conversion,
                torch.__future__.set_overwrite_module_params_on_conversion,
            ),
            Setting("automatic casts", lambda: torch.is_autocast_enabled("cpu"), _set_autocast),
            Setting("the engine of quantised operations", lambda: torch.backends.quantized.engine, _set_engine),
            # A process can set this name only once. Afterwards, every search for an accelerator needs that backend's
            # module.
            Setting("the name of a private backend", torch._C._get_privateuse1_backend_name),
        ]

    def is_array(self, value: Any) -> bool:
        import torch

        return isinstance(value, torch.Tensor)

    def is_changeable(self, value: Any) -> bool:
        return True

    def plain(self, value: Any) -> Any:
        import torch

        if isinstance(value, torch.dtype):
            return Text(str(value))
        raise no_plain_form(value)

    def compiled(self, context: Context, call: Callable[[], Any]) -> Callable[[], Any]:
        return context.compiled(call)


def _default_device() -> Any:
    """Return the default device, or None if it was not set. ``torch.get_default_device`` would create an array to find
    out."""
    import torch

    scope = getattr(torch._GLOBAL_DEVICE_CONTEXT, "device_context", None)
    return None if scope is None else scope.device


def _set_autocast(enabled: bool) -> None:
    import torch

    torch.set_autocast_enabled("cpu", enabled)


def _set_engine(name: str) -> None:
    import torch

    torch.backends.quantized.engine = name


def frozen_example(written: str) -> FrozenExample:
    """Prepare a docstring example of torch from its stored form."""
    return FrozenExample(written, TorchDialect())
