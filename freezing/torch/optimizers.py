"""Freeze the classes of ``torch.optim``: two steps with each set of options from torch's tests (OptimizerInfo)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from freezing.common.gate import SampleGate
from freezing.common.parts import Reason, write_cases, write_part
from freezing.common.samples import Drawn
from freezing.torch.samples import seed, write
from freezing.torch.subjects import WaySubject
from runners.errors import UnfreezableError
from runners.suite.checks import Tolerance
from runners.suite.frozen import PackWriter
from runners.torch import ways

KEPT = 12
DTYPE = "float32"
KIND = "optimizer"
STEPS = 2
SHAPES = ((3, 2), (4,))
"""The shapes of the parameters."""
MATRICES = frozenset({"Muon"})
"""Optimizers that take only matrices. They get only the first parameter, and always compute in bfloat16."""


class OptimizerClass(WaySubject):
    """A class of ``torch.optim``. A call constructs it for some parameters, and takes steps."""

    def __init__(self, info: Any) -> None:
        super().__init__(name_of(info), info.optim_cls, ways.steps)
        self._precision = "bfloat16" if info.optim_cls.__name__ in MATRICES else DTYPE

    def tolerance(self, dtype: str, result: Any) -> Tolerance:
        return super().tolerance(self._precision, result)


def name_of(info: Any) -> str:
    return f"torch.optim.{info.optim_cls.__name__}"


def freeze(info: Any, path: Path) -> None:
    """Draw and judge the samples of one optimizer into a file."""
    pack = PackWriter()
    subject = OptimizerClass(info)
    left_out: list[Reason] = []
    if info.only_supports_sparse_grads:
        left_out.append((subject.name, "", "a sample that cannot be frozen", "it takes sparse gradients alone"))
        write_part(pack, left_out, path)
        return
    gate = SampleGate(subject, pack)
    draws = draw(info, pack)
    left_out += [(subject.name, name, "a sample that cannot be frozen", detail) for name, detail in draws.left_out]
    gate.admit(draws.samples, KEPT)
    write_cases(pack, [(subject.name, gate)], path, left_out)


def draw(info: Any, pack: PackWriter) -> Drawn:
    """Draw two steps with each set of options from the optimizer's tests, and with ``foreach`` if it is supported."""
    seed()
    draws = Drawn()
    shapes = SHAPES[:1] if info.optim_cls.__name__ in MATRICES else SHAPES
    parameters, *gradients = [[torch.randn(shape) for shape in shapes] for _ in range(1 + STEPS)]
    option_sets = [dict(sample.kwargs) for sample in info.optim_inputs_func(device="cpu")]
    option_sets += [{"foreach": True}] if "foreach" in info.supported_impls else []
    for number, options in enumerate(option_sets):
        name = f"{DTYPE}-{number}"
        if options.get("line_search_fn"):
            draws.left_out.append((name, "it searches for a minimum, and the loss whose gradients are given has none"))
            continue
        parts = [parameters], options, gradients, info.step_requires_closure
        try:
            draws.add(write(name, DTYPE, parts, pack, way="steps", kinds=(KIND,)))
        except UnfreezableError as error:
            draws.left_out.append((name, str(error)))
    return draws
