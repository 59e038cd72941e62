"""Every keyword that decides values is given by some case, and every function on floats is fed NaN, or it says why."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import torch

from runners.suite.cases import Case
from runners.suite.device import Device
from runners.torch import FRAMEWORK
from tests.frameworks.common.keywords import Reading, assert_given, assert_words_known, of_functions, of_python
from tests.frameworks.common.nans import assert_fed
from tests.frameworks.common.right import assert_known


def signatures(function: Any) -> list[inspect.Signature]:
    """Those of Python; a function of torch's own code has its overloads in the schemas of its operator."""
    return of_python(function) or of_schemas(getattr(function, "__name__", ""))


def of_schemas(operator: str) -> list[inspect.Signature]:
    schemas = torch._C._jit_get_schemas_for_operator(f"aten::{operator}")
    of_tensors = [schema for schema in schemas if any("Tensor" in str(taken.type) for taken in schema.arguments)]
    # TorchScript's own overloads of Python's numbers have the operator's name too.
    return [of_schema(schema) for schema in of_tensors or schemas]


def of_schema(schema: Any) -> inspect.Signature:
    return inspect.Signature(
        [
            inspect.Parameter(
                taken.name,
                inspect.Parameter.KEYWORD_ONLY if taken.kwarg_only else inspect.Parameter.POSITIONAL_OR_KEYWORD,
                default=taken.default_value if taken.has_default_value() else inspect.Parameter.empty,
            )
            for taken in schema.arguments
        ]
    )


def methods(owner: type) -> Sequence[str]:
    """A layer is called through ``forward``, an optimizer through ``step``, a distribution is asked and drawn from."""
    called = {
        torch.nn.Module: "forward",
        torch.optim.Optimizer: "step",
        torch.distributions.Distribution: "rsample",
    }
    return ["__init__", *(method for base, method in called.items() if issubclass(owner, base) and owner is not base)]


READING = Reading(signatures=signatures, methods=methods)
WITHOUT_VALUE: dict[str, str] = {
    "device": "it places the result",
    "generator": "it is the source of chance, whose own numbers the statistics judge",
    "layout": "it lays the result out",
    "memory_format": "it lays the result out",
    "non_blocking": "it says when a copy is over",
    "pin_memory": "it places the result in the host's memory",
}
"""Keywords that decide no value, wherever they stand."""

BY_REDUCTION = dict.fromkeys(("reduce", "size_average"), "an old way to say what `reduction` says")
OF_OPTIMIZERS = {
    "capturable": "it lets CUDA record the step, which stays the same; a CPU refuses it",
    "differentiable": "it lets autograd follow the step, which stays the same",
}
UNUSED: dict[str, dict[str, str]] = {
    "torch.nn.BCEWithLogitsLoss": BY_REDUCTION,
    "torch.nn.KLDivLoss": BY_REDUCTION,
    "torch.nn.SmoothL1Loss": BY_REDUCTION,
    "torch.nn.Transformer": {
        "custom_decoder": "a module of one's own takes the decoder's place",
        "custom_encoder": "a module of one's own takes the encoder's place",
    },
    "torch.optim.Adamax": OF_OPTIMIZERS,
    "torch.optim.Rprop": OF_OPTIMIZERS,
    "torch.slogdet": dict.fromkeys(("logabsdet", "sign"), "the operator's name for a member of `out`"),
    "torch.triangular_solve": dict.fromkeys(("M", "X"), "the operator's name for a member of `out`"),
    "torch.zeros": {"names": "it names dimensions"},
}
"""Keywords that could decide values and that no case gives, and why."""

FACTORISED = "nothing is promised of a factorisation of NaN"
SHAPE_ALONE = "it reads no value"
NOT_FED: dict[str, str] = {
    "torch.Tensor.data_ptr": SHAPE_ALONE,
    "torch.Tensor.is_same_size": SHAPE_ALONE,
    "torch.Tensor.size": SHAPE_ALONE,
    "torch.cuda": "it says where the work is done",
    "torch.cuda.synchronize": "it waits for work that others do",
    "torch.distributions.RelaxedOneHotCategorical": "its arguments are validated, and NaN is refused",
    "torch.linalg.matrix_rank": FACTORISED,
    "torch.multinomial": "a weight that is NaN is refused",
    "torch.optim.LBFGS": "it searches for a minimum, which a NaN does not have",
    "torch.optim.Rprop": "it goes by signs, and a NaN has none",
    "torch.optim.lr_scheduler.ExponentialLR": "it sets a rate; the arrays are the optimizer's",
    "torch.ormqr": FACTORISED,
    "torch.saddmm": "this torch has none",
    "torch.slogdet": FACTORISED,
    "torch.triangular_solve": FACTORISED,
    "torch.von_mises.VonMises": "this torch has none",
}
"""Functions on floats that no case feeds NaN, and why."""


@of_functions(FRAMEWORK)
def test_every_keyword_that_decides_values_is_given(cpu: Device, chosen: Sequence[Case]) -> None:
    assert_given(cpu, chosen, READING, without_value=WITHOUT_VALUE, exceptions=UNUSED)


@of_functions(FRAMEWORK)
def test_every_function_on_floats_is_fed_nan(chosen: Sequence[Case]) -> None:
    assert_fed(chosen, NOT_FED)


def test_everything_named_as_an_exception_is_charted(cpu: Device) -> None:
    assert_known(FRAMEWORK, [*UNUSED, *NOT_FED])
    assert_words_known(FRAMEWORK, cpu, READING, WITHOUT_VALUE)
