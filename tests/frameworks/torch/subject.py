"""The subject torch: how signatures of its functions are read, and the known exceptions in its tests."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import torch

from runners.torch import FRAMEWORK
from tests.frameworks.common.keywords import Reading, of_python
from tests.frameworks.common.subject import Subject
from tests.frameworks.torch.arrays import ARRAYS
from tests.frameworks.torch.dialect import DIALECT
from tests.frameworks.torch.operations import TorchOperations
from tests.frameworks.torch.wrappers import wrapper_of

NEEDS_CUDA = {
    "torch.cuda": "CUDA alone has it",
    "torch.cuda.synchronize": "CUDA alone has it",
}
"""Functions whose calls run as written and must fail on a machine without CUDA."""

GONE = {
    "torch.von_mises.VonMises": "today's is torch.distributions.VonMises",
}
"""Names in the paper that this torch version does not have."""

FIRST_EXP = {
    "torch.autograd.functional.jvp/float32-64x128-exp": "the first `torch.exp` of a process that uses a second thread",
}
"""Values from this thread are sometimes wrong by up to 1.5e-4. This was seen with torch 2.9.0 and MKL on a processor
with AVX-512, also in torch without Portolan."""

WITHOUT_MUTANTS = {
    "torch.Tensor.size/scalar-has-none": "its right result is a tuple of nothing",
}
"""Value cases that no mutant can affect, each with the reason."""

IN_PLACE_BY_NATURE = "it works in place: its mutants change the list of what it changed, which is no input"

A_COPY = "the call gets a copy that the case has made"

WRITTEN_OVER_UNSEEN = {
    "torch.optim.Adamax": IN_PLACE_BY_NATURE,
    "torch.optim.Rprop": IN_PLACE_BY_NATURE,
    "torch.optim.LBFGS": IN_PLACE_BY_NATURE,
    "torch.optim.lr_scheduler.ExponentialLR": IN_PLACE_BY_NATURE,
    "torch.nn.Module.zero_grad": IN_PLACE_BY_NATURE,
    "torch.nn.BatchNorm.reset_running_stats": IN_PLACE_BY_NATURE,
    "torch.nn.functional.dropout/in-place": A_COPY,
    "torch.lt/non-contiguous": A_COPY,
    "torch.ormqr/non-contiguous": A_COPY,
    "torch.Tensor.is_same_size/other-strides": A_COPY,
    "torch.Tensor.size/non-contiguous": A_COPY,
    "torch.Tensor.size/after-reshaping": A_COPY,
    "torch.Tensor.size/of-a-result-that-depends-on-values": A_COPY,
}
"""Functions and cases that do not detect an overwritten array argument, each with the reason."""

RIGHT_ONCE_UNSEEN = {
    "torch.autograd.Variable/shares-its-memory": "the case writes over what is returned",
    "torch.utils.data.Dataset/pinned-for-an-accelerator": "where the rows lie, not what is in them",
    "torch.nn.init.xavier_uniform_/parameter": "the array that it fills is looked at, not what it returns",
    "torch.nn.Module.state_dict/shares-its-arrays": "the arrays are the module's own, and written over",
    "torch.nn.Module.state_dict/order-of-names": "the names alone",
    "torch.nn.Module.state_dict/detached": "whether they are followed, not their values",
    "torch.nn.Module.state_dict/parameters-themselves": "their types, not their values",
    "torch.randperm/the-same-seed-repeats": "zeros repeat as well",
}
"""Cases that do not detect zeros in a later result, each with the reason."""


def signatures(function: Any) -> list[inspect.Signature]:
    """The signatures that Python reports. For a function without Python code, the overloads in the schemas of its
    operator."""
    return of_python(function) or of_schemas(getattr(function, "__name__", ""))


def of_schemas(operator: str) -> list[inspect.Signature]:
    schemas = torch._C._jit_get_schemas_for_operator(f"aten::{operator}")
    of_tensors = [schema for schema in schemas if any("Tensor" in str(argument.type) for argument in schema.arguments)]
    # TorchScript's own overloads of Python's numbers have the operator's name too.
    return [of_schema(schema) for schema in of_tensors or schemas]


def of_schema(schema: Any) -> inspect.Signature:
    return inspect.Signature(
        [
            inspect.Parameter(
                argument.name,
                inspect.Parameter.KEYWORD_ONLY if argument.kwarg_only else inspect.Parameter.POSITIONAL_OR_KEYWORD,
                default=argument.default_value if argument.has_default_value() else inspect.Parameter.empty,
            )
            for argument in schema.arguments
        ]
    )


def methods(owner: type) -> Sequence[str]:
    """A layer is called through ``forward`` and an optimizer through ``step``. Distributions are asked for
    probabilities and samples."""
    by_base = {
        torch.nn.Module: "forward",
        torch.optim.Optimizer: "step",
        torch.distributions.Distribution: "rsample",
    }
    return ["__init__", *(method for base, method in by_base.items() if issubclass(owner, base) and owner is not base)]


READING = Reading(signatures=signatures, methods=methods)

WITHOUT_VALUE: dict[str, str] = {
    "device": "it places the result",
    "generator": "it is the source of chance, whose own numbers the statistics judge",
    "layout": "it lays the result out",
    "memory_format": "it lays the result out",
    "non_blocking": "it says when a copy is over",
    "pin_memory": "it places the result in the host's memory",
}
"""Keywords that affect no value in any function."""

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
"""Keywords that could affect values but are passed in no case, each with the reason."""

FACTORISED = "nothing is promised of a factorisation of NaN"

NOT_FED: dict[str, str] = {
    "torch.Tensor.data_ptr": "it reads no value",
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
"""Functions of floats for which no case has NaN, each with the reason."""

SUBJECT = Subject(
    framework=FRAMEWORK,
    arrays=ARRAYS,
    dialect=DIALECT,
    wrapper_of=wrapper_of,
    reading=READING,
    doubling="torch.mul",
    operations=lambda device: TorchOperations(device.handle),
    gone=GONE,
    raising=NEEDS_CUDA,
    needing_spared={"torch.library.triton_op/example": "triton", "torch.library.wrap_triton/example": "triton"},
    now_and_then=FIRST_EXP,
    without_mutants=WITHOUT_MUTANTS,
    written_over_unseen=WRITTEN_OVER_UNSEEN,
    right_once_unseen=RIGHT_ONCE_UNSEEN,
    without_value=WITHOUT_VALUE,
    unused=UNUSED,
    not_fed=NOT_FED,
)
