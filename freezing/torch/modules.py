"""Freeze the classes of ``torch.nn`` with the inputs of torch's own tests (ModuleInfo), for training and evaluation."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from inspect import unwrap
from pathlib import Path
from typing import Any

import torch
from freezing.common.agreement import Reference
from freezing.common.gate import Arguments, SampleGate
from freezing.common.parts import Reason, write_cases
from freezing.common.samples import Drawn
from freezing.torch import normalizations, references
from freezing.torch.operators import written_axes
from freezing.torch.samples import seed, write
from freezing.torch.subjects import WaySubject
from runners.errors import UnfreezableError
from runners.suite.frozen import PackWriter
from runners.torch import ways
from runners.torch.widening import widened

KEPT = 6
"""The maximum number of cases of a module in each mode."""
MOST_READ = 60
DTYPE = "float32"
KIND = "module"
OF_THE_SAME = ("no_batch_dim", "fast_path")
"""The beginnings of the names of references that only call the same module in another way."""


class ModuleClass(WaySubject):
    """A class of ``torch.nn``. A call constructs the module, sets its state, and runs a forward pass."""

    def __init__(self, info: Any) -> None:
        super().__init__(name_of(info), info.module_cls, ways.forward)
        self.module_class = info.module_cls
        self.call = self._call
        # A pooling can return indices, and may return that of any of several equal elements.
        self.first_of_equals = "MaxPool" in self.name
        self.shows_places = True
        self.written_axes = written_axes(self.name.rpartition(".")[2])
        self.own_references: dict[str, Callable[..., Any]] = {}
        """Maps written calls to the references of the module's own tests."""

    def _call(self, *parts: Any, reference: Any = None) -> Any:
        """Run a forward pass. ``reference`` is among the arguments only for the judge, and is not used here."""
        return ways.forward(self.module_class, *parts)()

    def arguments(self, call: str, arrays: Sequence[Any]) -> Arguments:
        parts, _ = super().arguments(call, arrays)
        own = self.own_references.get(call)
        return parts, {"reference": own} if own else {}

    def references(self, dtype: str, fresh: Callable[[], Arguments]) -> Iterator[tuple[str, Reference]]:
        parts, options = fresh()
        formula = normalizations.MODULES.get(self.module_class.__name__)
        if formula is not None:
            yield "numpy", lambda: self.by_formula(formula, *parts)[:1]
        if options:
            yield "reference", lambda: self._own(*widened(parts), **options)
        yield from super().references(dtype, fresh)

    def by_formula(
        self, formula: Any, arguments: Any, options: Any, state: Any, inputs: Any, training: bool
    ) -> list[Any]:
        """Return the result of a formula in float64, followed by the module's buffers."""
        module = ways.built(self.module_class, arguments, options, state, training)
        positional, keywords = references.to_numpy(widened(inputs))
        return list(formula(module, references.to_numpy(widened(state)), *positional, **keywords))

    def _own(
        self, arguments: Any, options: Any, state: Any, inputs: Any, training: bool, *, reference: Callable[..., Any]
    ) -> list[Any]:
        module = ways.built(self.module_class, arguments, options, state, training)
        positional, keywords = inputs
        return references.flat(reference(module, *positional, **keywords))


def name_of(info: Any) -> str:
    return f"torch.nn.{info.module_cls.__name__}"


def freeze(info: Any, path: Path) -> None:
    """Draw and judge the samples of one module into a file."""
    pack = PackWriter()
    subject = ModuleClass(info)
    gate = SampleGate(subject, pack)
    left_out: list[Reason] = []
    for training in (True, False) if info.train_and_eval_differ else (True,):
        draws = draw(info, training, subject, pack)
        left_out += [(subject.name, name, "a sample that cannot be frozen", detail) for name, detail in draws.left_out]
        gate.admit(draws.samples, KEPT)
    write_cases(pack, [(subject.name, gate)], path, left_out)


def draw(info: Any, training: bool, subject: ModuleClass, pack: PackWriter) -> Drawn:
    """Read the module's samples in a mode, and store their references in ``subject``."""
    seed()
    draws = Drawn()
    mode = "train" if training else "eval"
    dtype = getattr(torch, DTYPE)
    read = info.module_inputs_func(info, device="cpu", dtype=dtype, requires_grad=False, training=training)
    for number, sample in enumerate(itertools.islice(read, MOST_READ)):
        name = f"{DTYPE}-{number}-{mode}"
        try:
            parts = parts_of(info, sample, training)
            frozen_sample = write(name, DTYPE, parts, pack, way="forward", inputs=parts[3], kinds=(KIND, mode))
        except UnfreezableError as error:
            draws.left_out.append((name, str(error)))
            continue
        draws.add(frozen_sample)
        if sample.reference_fn is not None and not _calls_the_same(sample.reference_fn):
            subject.own_references[frozen_sample.call] = sample.reference_fn
    return draws


def parts_of(info: Any, sample: Any, training: bool) -> tuple[Any, ...]:
    """Return the parts of a call: the arguments and options of the constructor, the state, the inputs, and whether the
    mode is training."""
    arguments, options = list(sample.constructor_input.args), dict(sample.constructor_input.kwargs)
    inputs = list(sample.forward_input.args), dict(sample.forward_input.kwargs)
    module = info.module_cls(*arguments, **options)
    if info.is_lazy:
        module(*inputs[0], **inputs[1])
    return arguments, options, dict(module.state_dict()), inputs, training


def _calls_the_same(reference: Callable[..., Any]) -> bool:
    own = unwrap(reference)
    return str(getattr(getattr(own, "func", own), "__name__", "")).startswith(OF_THE_SAME)
