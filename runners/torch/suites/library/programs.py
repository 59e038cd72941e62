"""Handwritten cases of programs as data: traced or scripted once, saved and loaded.

They cover the most used functions without samples in torch's own tests. NumPy judges them, as in ``by_hand.py``.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import partial
from typing import Any

from runners.suite.cases import Context, Function
from runners.torch.suites.library.by_hand import TAGS, chart_in
from runners.torch.suites.library.modes import linear_layer, of_layer

FUNCTIONS: list[Function] = []
charted = partial(chart_in, FUNCTIONS)


def traced(context: Context, values: Any, weight: Any) -> Callable[[], Any]:
    """Prepare the call of a layer that is traced with an array of zeros."""
    layer = linear_layer(weight)
    return lambda: context.function(layer, 0 * values)(values).detach()


def scripted(context: Context, values: Any, weight: Any) -> Callable[[], Any]:
    layer = linear_layer(weight)
    return lambda: context.function(layer)(values).detach()


def saved(context: Context, values: Any, weight: Any) -> Callable[[], Any]:
    """Prepare a call that writes a program. The program is read and run on the host, so that the case passes on a
    device that cannot load programs."""
    import torch

    program = torch.jit.trace(linear_layer(weight), values)

    def call() -> Any:
        file = io.BytesIO()
        context.function(program, file)
        with context.surroundings():
            file.seek(0)
            return torch.jit.load(file, map_location="cpu")(values.cpu()).detach().to(context.device)

    return call


def loaded(context: Context, values: Any, weight: Any) -> Callable[[], Any]:
    """Prepare a call that reads a program and runs it. The program was saved on the host."""
    import torch

    file = io.BytesIO()
    torch.jit.save(torch.jit.trace(linear_layer(weight.cpu()), values.cpu()), file)
    return lambda: context.function(io.BytesIO(file.getvalue()), map_location=context.device)(values).detach()


for name, prepare in {
    "torch.jit.trace": traced,
    "torch.jit.script": scripted,
    "torch.jit.save": saved,
    "torch.jit.load": loaded,
}.items():
    charted(name, lambda values, weight: values @ weight.T, prepare).value("float32-linear", of_layer, tags=TAGS)
