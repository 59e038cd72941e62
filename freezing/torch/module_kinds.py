"""Three kinds of cases that are made from a module's frozen cases in training mode: the buffers after a forward pass,
the gradients with respect to inputs and parameters, and their second derivatives."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

import torch
from freezing.common.agreement import Reference
from freezing.common.determined import SECOND_ORDER_TOLERANCES, with_one_result
from freezing.common.gate import Arguments, SampleGate
from freezing.common.parts import write_cases
from freezing.common.samples import Sample
from freezing.common.variants import SECOND_ORDER, Call
from freezing.torch import differences, normalizations, references
from freezing.torch.gradients import SELECTING, depending, weight_of
from freezing.torch.modules import ModuleClass
from freezing.torch.subjects import called_by
from protocol.enums import GRADIENT
from runners.suite.checks import Tolerance
from runners.suite.frozen import PackWriter, Slot, encode
from runners.torch import module_curvature, module_ways, ways
from runners.torch.frozen import WAY
from runners.torch.ways import tensors_in
from runners.torch.widening import widened

BUFFERS, MODULE_GRADIENT, MODULE_SECOND_ORDER = "buffers", "module-gradient", "module-second-order"
"""The kinds of cases. They exist only on the command line."""
LATER = "later"
"""The part of a case's name that means that the module has seen other batches before."""
BATCHES_BEFORE = 3
MOST_GRADIENTS = 3
"""The maximum number of gradient cases of a module."""
MOST_TRIED = 4
"""The maximum number of cases of a module whose second derivatives are tried. One is kept."""
WIDER = 10
"""The factor for the tolerance of a module's gradients if none fits the normal tolerance. Errors add up over the layers
of a transformer."""
TRAINING = ".*-train"
NO_SLOPE = "its gradient is NaN: comparisons within the backward pass decide what becomes of that"


class ModuleBuffers(ModuleClass):
    """A class of ``torch.nn`` in training mode. A call returns the result of a forward pass, and the buffers after
    it."""

    def __init__(self, info: Any) -> None:
        super().__init__(info)
        self.call = called_by(module_ways.forward_and_buffers, self.module_class)

    def references(self, dtype: str, fresh: Callable[[], Arguments]) -> Iterator[tuple[str, Reference]]:
        parts, _ = fresh()
        formula = normalizations.MODULES.get(self.module_class.__name__)
        if formula is not None:
            yield "numpy", lambda: self.by_formula(formula, *parts)
        yield "float64", lambda: references.in_float64(self.call, fresh)


class ModuleGradient(ModuleClass):
    """The gradients of a module in training mode. ``times`` is a factor for the tolerance of the dtype."""

    def __init__(self, info: Any, times: int = 1) -> None:
        super().__init__(info)
        self._times = times
        self.call = called_by(module_ways.module_gradient, self.module_class)
        self.first_of_equals = self.first_of_equals or any(word in self.name.lower() for word in SELECTING)

    def references(self, dtype: str, fresh: Callable[[], Arguments]) -> Iterator[tuple[str, Reference]]:
        parts, _ = fresh()
        function_parts = self.as_function(*parts)
        if differences.are_few(function_parts):
            yield "differences", lambda: differences.gradients(self.of_parameters(*parts), function_parts)
        yield "float64", lambda: references.in_float64(self.call, fresh)

    def tolerance(self, dtype: str, result: Any) -> Tolerance:
        own = super().tolerance(dtype, result)
        return Tolerance(own.relative * self._times, own.absolute * self._times)

    def reason_undetermined(self, call: Callable[[], Any]) -> str | None:
        return NO_SLOPE if any(gradient.isnan().any() for gradient in tensors_in(call())) else None

    def as_function(
        self, arguments: Any, options: Any, state: Any, inputs: Any, training: bool, places: Any, weights: Any
    ) -> tuple[Any, ...]:
        """Return the parts of a gradient call for the module as a function of its inputs and parameters."""
        parameters = self._parameters(arguments, options, state, training)
        first = sum(1 for _ in tensors_in(inputs))
        return [inputs, parameters], {}, [*places, *range(first, first + len(parameters))], weights

    def of_parameters(
        self, arguments: Any, options: Any, state: Any, inputs: Any, training: bool, *_: Any
    ) -> Callable[..., Any]:
        """Return the module as a function of its inputs and parameters."""
        buffers = widened(state)

        def function(inputs: Any, parameters: Mapping[str, Any]) -> Any:
            module = ways.built(self.module_class, arguments, options, {**buffers, **parameters}, training)
            positional, keywords = inputs
            return module(*positional, **keywords)

        return function

    def _parameters(self, arguments: Any, options: Any, state: Any, training: bool) -> dict[str, Any]:
        names = [
            name for name, _ in ways.built(self.module_class, arguments, options, state, training).named_parameters()
        ]
        return {name: state[name] for name in names}


class ModuleSecondOrder(ModuleGradient):
    """The second derivatives of a module in training mode. A call raises an error if they are zero."""

    def __init__(self, info: Any, times: int = 1) -> None:
        super().__init__(info, times)
        self.call = depending(called_by(module_curvature.module_second_order, self.module_class))

    def of_parameters(
        self, arguments: Any, options: Any, state: Any, inputs: Any, training: bool, places: Any, weights: Any
    ) -> Callable[..., Any]:
        """Return the penalty of the module's gradients as a function of its inputs and parameters."""
        buffers, wide = widened(state), widened(weights)

        def function(inputs: Any, parameters: Mapping[str, Any]) -> Any:
            module = ways.built(self.module_class, arguments, options, {**buffers, **parameters}, training)
            positional, keywords = inputs
            tensors = list(tensors_in(inputs))
            with torch.enable_grad():
                variables = [tensors[place].requires_grad_() for place in places]
                variables += module.parameters()
                return ways.penalty(module, positional, keywords, variables, wide).detach()

        return function

    def as_function(self, *parts: Any) -> tuple[Any, ...]:
        """Return the parts of a gradient call for the penalty as a function of the module's inputs and parameters."""
        values, options, places, _ = super().as_function(*parts)
        return values, options, places, [torch.ones(())]


def parts(kind: str, base_cases: Any) -> list[tuple[str, Callable[[Path], None]]]:
    """Return, for each module, its name and a function that draws its cases of this kind into a file."""
    from freezing.torch.modules import name_of
    from torch.testing._internal.common_modules import module_db

    freeze = {
        BUFFERS: freeze_buffers,
        MODULE_GRADIENT: freeze_gradients,
        MODULE_SECOND_ORDER: freeze_second_derivatives,
    }[kind]
    return [(name_of(info), partial(freeze, info, base_cases)) for info in module_db]


def freeze_buffers(info: Any, base_cases: Any, path: Path) -> None:
    """Draw and judge the cases of a module's buffers into a file. There are none if no forward pass changes a
    buffer."""
    subject, pack = ModuleBuffers(info), PackWriter()
    gate = SampleGate(subject, pack)
    for case in base_cases.of(subject.name, TRAINING):
        call = base_cases.call(case)
        if changes_buffers(subject, call):
            for word, new_call in (("", call), (f"{LATER}-", after_batches(call))):
                sample = _sample(
                    case, new_call, "forward_and_buffers", f"{word}{BUFFERS}", (BUFFERS,), base_cases, pack
                )
                gate.admit([sample], 1)
    write_cases(pack, [(subject.name, gate)], path)


def freeze_gradients(info: Any, base_cases: Any, path: Path) -> None:
    """Draw and judge the gradients of a module into a file."""
    pack = PackWriter()
    for times in (1, WIDER):
        subject = ModuleGradient(info, times)
        gate = SampleGate(subject, pack)
        _admit_gradients(subject, gate, base_cases, pack)
        if gate.cases:
            break
    write_cases(pack, [(subject.name, gate)], path)


def freeze_second_derivatives(info: Any, base_cases: Any, path: Path) -> None:
    """Draw and judge a case of the second derivatives of a module into a file."""
    pack = PackWriter()
    for times in (1, WIDER):
        subject = ModuleSecondOrder(info, times)
        gate = SampleGate(subject, pack)
        first_order = ModuleGradient(info)
        samples = _gradient_samples(
            first_order, gate, base_cases, pack, module_curvature.NAME, SECOND_ORDER, (GRADIENT, SECOND_ORDER)
        )
        for sample in with_one_result(
            gate, subject, islice(samples, MOST_TRIED), pack, tolerances=SECOND_ORDER_TOLERANCES
        ):
            gate.admit([sample], 1)
            if gate.cases:
                break
        if gate.cases:
            break
    write_cases(pack, [(subject.name, gate)], path)


def _admit_gradients(subject: ModuleGradient, gate: SampleGate, base_cases: Any, pack: PackWriter) -> None:
    for sample in _gradient_samples(subject, gate, base_cases, pack, "module_gradient", GRADIENT, (GRADIENT,)):
        gate.admit([sample], 1)
        if len(gate.cases) == MOST_GRADIENTS:
            return


def _gradient_samples(
    subject: ModuleGradient,
    gate: SampleGate,
    base_cases: Any,
    pack: PackWriter,
    way: str,
    ending: str,
    tags: Sequence[str],
) -> Iterator[Sample]:
    """Yield the samples of a module's gradients in this way. Add those without a gradient to the gate's list."""
    for case in base_cases.of(subject.name, TRAINING):
        call = without_nan(base_cases.call(case))
        try:
            new_call = with_parts(call, *choose_weights(subject, call))
        except ValueError as error:
            gate.left_out.append((f"{case['name']}-{ending}", "a sample that cannot be frozen", str(error)))
            continue
        yield _sample(case, new_call, way, ending, tags, base_cases, pack)


def changes_buffers(subject: ModuleClass, call: Call) -> bool:
    """Whether a forward pass changes a buffer of the module."""
    arguments, options, state, inputs, training = _parts(subject, call)
    module = ways.built(subject.module_class, arguments, options, state, training)
    before = {name: buffer.clone() for name, buffer in module.named_buffers()}
    module(*inputs[0], **inputs[1])
    return any(not torch.equal(buffer, before[name]) for name, buffer in module.named_buffers())


def after_batches(call: Call) -> Call:
    """Change the state of the call's module as if it had seen other batches: other running statistics and a number of
    batches."""
    numbers = {name: slot["array"] for name, slot in call.written["tuple"][2]["mapping"] if "array" in slot}
    rng = np.random.default_rng(0)
    others: dict[int, Any] = {}
    for name, number in numbers.items():
        array = call.arrays[number]
        if name.endswith("running_mean"):
            others[number] = rng.uniform(-1, 1, array.shape).astype(array.dtype)
        elif name.endswith("running_var"):
            others[number] = rng.uniform(0.5, 2, array.shape).astype(array.dtype)
        elif name.endswith("num_batches_tracked"):
            others[number] = np.full_like(array, BATCHES_BEFORE)
    return call.having(others)


def without_nan(call: Call) -> Call:
    """Replace NaN in the inputs by 1. Some inputs of torch's own tests have NaN, and the gradient does not exist
    there."""
    return call.having({number: np.nan_to_num(call.arrays[number], nan=1.0) for number in call.floats})


def choose_weights(subject: ModuleClass, call: Call) -> tuple[list[int], list[Any]]:
    """Return the places of the inputs to differentiate by, and a weight for each array of the result.

    Raises ``ValueError`` if nothing has a gradient.
    """
    _, _, _, inputs, _ = _parts(subject, call)
    places = [place for place, tensor in enumerate(tensors_in(inputs)) if tensor.is_floating_point()]
    try:
        results = _results(subject, call, places)
    except RuntimeError:
        # A loss may have no derivative with respect to its target.
        places = places[:1]
        results = _results(subject, call, places)
    weights = [weight_of(result.detach()) if result.requires_grad else None for result in results]
    if not any(weight is not None and weight.numel() for weight in weights):
        raise ValueError("nothing that it returns has a gradient")
    return places, weights


def _results(subject: ModuleClass, call: Call, places: Sequence[int]) -> list[Any]:
    """Return the arrays of the result if these inputs require gradients."""
    arguments, options, state, inputs, training = _parts(subject, call)
    tensors = list(tensors_in(inputs))
    for place in places:
        tensors[place].requires_grad_()
    return list(tensors_in(ways.forward(subject.module_class, arguments, options, state, inputs, training)()))


def with_parts(call: Call, input_places: Sequence[int], weights: Sequence[Any]) -> Call:
    """Add two parts to the call: the places, and the weights as further arrays."""
    arrays = list(call.arrays)
    slots: list[Any] = []
    for weight in weights:
        slots.append(None if weight is None else Slot(len(arrays)))
        if weight is not None:
            arrays.append(weight.numpy())
    tree = json.loads(json.dumps(call.written))
    tree["tuple"] += [encode(list(input_places)), encode(slots)]
    return Call(call.name, call.dtype, call.tags, tuple(arrays), tree, call.inputs)


def _parts(subject: ModuleClass, call: Call) -> Any:
    arrays = subject.device.to_device(list(call.arrays), call.dtype)
    return subject.arguments(json.dumps(call.written), arrays)[0]


def _sample(
    case: Mapping[str, Any],
    call: Call,
    way: str,
    ending: str,
    tags: Sequence[str],
    base_cases: Any,
    pack: PackWriter,
) -> Sample:
    """Make the sample that calls a case in this way."""
    tree = {**call.written, WAY: way}
    arrays = list(call.arrays)
    dtypes = [base_cases.pack.dtype(digest) for digest in case["arrays"]]
    dtypes += [str(array.dtype) for array in arrays[len(dtypes) :]]
    digests = tuple(pack.add(array, dtype) for array, dtype in zip(arrays, dtypes))
    kinds = tuple(tag for tag in case["tags"] if not tag.startswith("judged-by-") and tag != "quick")
    elements = sum(array.size for array in arrays)
    call_text = json.dumps(tree, separators=(",", ":"))
    return Sample(f"{case['name']}-{ending}", case["dtype"], call_text, digests, (*kinds, *tags), elements)
