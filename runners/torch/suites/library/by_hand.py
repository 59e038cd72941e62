"""Handwritten cases, judged by NumPy, for the most used functions without samples in torch's own tests.

``portolan catalogue coverage`` counts their uses. Importing this imports no framework.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from runners.suite.cases import Context, Function, just_call
from runners.suite.checks import Mismatch, uniform_twice
from runners.suite.frozen import QUICK

Array = np.ndarray[Any, Any]

TAGS = ("by-hand", "judged-by-numpy", "plain", QUICK)
FUNCTIONS: list[Function] = []


def chart_in(
    functions: list[Function],
    name: str,
    reference: Callable[..., Any] | None = None,
    prepare: Any = just_call,
    *,
    in_place: bool = False,
) -> Function:
    function = Function(
        name,
        reference=reference,
        prepare=prepare,
        in_place=(0,) if in_place else False,
        unrepeatable="it changes its input" if in_place else None,
    )
    functions.append(function)
    return function


charted = partial(chart_in, FUNCTIONS)


def on_the_device(context: Context, *arguments: Any, **options: Any) -> Callable[[], Any]:
    """Prepare a call that gets the case's device as an option."""
    return partial(context.function, *arguments, device=context.device, **options)


for name in ("torch.tensor", "torch.as_tensor"):
    creation = charted(name, np.asarray, on_the_device)
    creation.value("float32-list", lambda inputs: [inputs.normal(3, 4).tolist()], tags=TAGS)
    creation.value("float32-number", lambda inputs: [2.5], tags=TAGS)
    creation.value("int64-list", lambda inputs: [inputs.integers(2, 3, 2).tolist()], dtype="int64", tags=TAGS)
    creation.value("bool-list", lambda inputs: [inputs.booleans(5).tolist()], dtype="bool", tags=TAGS)


def from_the_host(context: Context, values: Any) -> Callable[[], Any]:
    """Prepare a call with a NumPy array. Its result is then moved to the device, as users do."""
    host = np.asarray(values)
    return lambda: context.function(host).to(context.device)


from_numpy = charted("torch.from_numpy", np.asarray, from_the_host)
from_numpy.value("float64-3x4", lambda inputs: [inputs.normal(3, 4).tolist()], dtype="float64", tags=TAGS)
from_numpy.value("int64-2x3x2", lambda inputs: [inputs.integers(2, 3, 2).tolist()], dtype="int64", tags=TAGS)

where = charted("torch.where", np.where)
where.value("float32-4x5", lambda inputs: [inputs.booleans(4, 5), inputs.normal(4, 5), inputs.normal(4, 5)], tags=TAGS)
where.value("float32-broadcast", lambda inputs: [inputs.booleans(4, 1), inputs.normal(5), inputs.normal(1)], tags=TAGS)
where.value("float32-number", lambda inputs: [inputs.booleans(6), inputs.normal(6), 0.5], tags=TAGS)
where.value(
    "int64-4x5",
    lambda inputs: [inputs.booleans(4, 5), inputs.integers(4, 5), inputs.integers(4, 5)],
    dtype="int64",
    tags=TAGS,
)
where.value("bool-places", lambda inputs: [inputs.booleans(4, 5)], dtype="bool", tags=TAGS)

einsum = charted("torch.einsum", np.einsum)
for equation, shapes in {
    "ij,jk->ik": ((3, 4), (4, 5)),
    "bij,bjk->bik": ((2, 3, 4), (2, 4, 3)),
    "bhid,bhjd->bhij": ((2, 2, 3, 4), (2, 2, 5, 4)),
    "ii->i": ((4, 4),),
    "ij->ji": ((3, 4),),
    "i,j->ij": ((3,), (4,)),
    "...ij->...": ((2, 3, 4),),
}.items():
    einsum.value(
        f"float32-{equation}",
        lambda inputs, equation=equation, shapes=shapes: [  # type: ignore[misc]
            equation,
            *(inputs.normal(*shape) for shape in shapes),
        ],
        tags=TAGS,
    )


def softmax(values: Array, dim: int) -> Array:
    raised = np.exp(values - values.max(dim, keepdims=True))
    return np.asarray(raised / raised.sum(dim, keepdims=True))


def log_softmax(values: Array, dim: int) -> Array:
    shifted = values - values.max(dim, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(dim, keepdims=True)))


for name, reference in {
    "torch.nn.functional.softmax": softmax,
    "torch.nn.functional.log_softmax": log_softmax,
}.items():
    normalised = charted(name, reference)
    normalised.value("float32-last", lambda inputs: [inputs.normal(3, 4, 5)], dim=-1, tags=TAGS)
    normalised.value("float32-first", lambda inputs: [inputs.normal(3, 4)], dim=0, tags=TAGS)
    normalised.value("float32-large", lambda inputs: [100 * inputs.normal(3, 4)], dim=1, tags=TAGS)
    normalised.value("bfloat16-last", lambda inputs: [inputs.normal(3, 4)], dtype="bfloat16", dim=-1, tags=TAGS)

detach = charted("torch.Tensor.detach", np.array)
detach.value("float32-3x4", lambda inputs: [inputs.normal(3, 4)], tags=TAGS)
tolist = charted("torch.Tensor.tolist", np.ndarray.tolist)
tolist.value("float32-3x4", lambda inputs: [inputs.normal(3, 4)], tags=TAGS)
tolist.value("int64-0-dim", lambda inputs: [inputs.integers()], dtype="int64", tags=TAGS)
type_as = charted("torch.Tensor.type_as", lambda values, other: values.astype(other.dtype))
type_as.value(
    "float32-int64", lambda inputs: [np.trunc(inputs.normal(3, 4) * 5), inputs.integers(2)], dtype="float32", tags=TAGS
)
copy_ = charted("torch.Tensor.copy_", lambda _, source: source, in_place=True)
copy_.value("float32-3x4", lambda inputs: [inputs.normal(3, 4), inputs.normal(3, 4)], tags=TAGS)


def expanded(values: Array, source: Array) -> Array:
    return np.broadcast_to(source, values.shape)


copy_.value("float32-broadcast", lambda inputs: [inputs.normal(3, 4), inputs.normal(4)], reference=expanded, tags=TAGS)


def saved(context: Context, values: Any) -> Callable[[], Any]:
    """Prepare a call that writes a file. The file is read on the host, so that the case passes on a device that cannot
    load files."""
    import torch

    def call() -> Any:
        file = io.BytesIO()
        context.function({"weights": values, "step": 3}, file)
        with context.surroundings():
            file.seek(0)
            content = torch.load(file, map_location="cpu")
            return {**content, "weights": content["weights"].to(context.device)}

    return call


def loaded(context: Context, values: Any) -> Callable[[], Any]:
    """Prepare a call that reads a file. The file was written on the host."""
    import torch

    file = io.BytesIO()
    torch.save({"weights": values.cpu(), "step": 3}, file)
    return lambda: context.function(io.BytesIO(file.getvalue()), map_location=context.device)


for name, way in {"torch.save": saved, "torch.load": loaded}.items():
    charted(name, lambda values: {"weights": values, "step": 3}, way).value(
        "float32-3x4", lambda inputs: [inputs.normal(3, 4)], tags=TAGS
    )


def batches(context: Context, *arrays: Any, **options: Any) -> Callable[[], Any]:
    """Prepare a call that returns all batches of a data set whose arrays are on the device."""
    import torch

    dataset = torch.utils.data.TensorDataset(*arrays)
    return lambda: [list(batch) for batch in context.function(dataset, **options)]


def split(*arrays: Array, batch_size: int, drop_last: bool = False) -> list[list[Array]]:
    count = len(arrays[0])
    starts = range(0, count - count % batch_size if drop_last else count, batch_size)
    return [[array[start : start + batch_size] for array in arrays] for start in starts]


loader = charted("torch.utils.data.DataLoader", split, batches)
loader.value("float32-rest", lambda inputs: [inputs.normal(7, 3), inputs.normal(7)], batch_size=3, tags=TAGS)
loader.value("float32-dropped", lambda inputs: [inputs.normal(7, 3)], batch_size=2, drop_last=True, tags=TAGS)


def module(context: Context, values: Any, **options: Any) -> Callable[[], Any]:
    """Prepare the call of a module without weights, in evaluation mode."""
    evaluating = context.function(**options).eval()
    return lambda: evaluating(values)


for name in ("torch.nn.Identity", "torch.nn.Dropout"):
    charted(name, np.array, module).value("float32-evaluating", lambda inputs: [inputs.normal(3, 4)], tags=TAGS)


def filled(values: Array, number: float = 0.0) -> Array:
    return np.full_like(values, number)


constant_ = charted("torch.nn.init.constant_", filled, in_place=True)
constant_.value("float32-3x4", lambda inputs: [inputs.normal(3, 4), 0.25], tags=TAGS)
zeros_ = charted("torch.nn.init.zeros_", filled, in_place=True)
zeros_.value("float32-3x4", lambda inputs: [inputs.normal(3, 4)], tags=TAGS)


def held(context: Context, values: Any) -> Callable[[], Any]:
    """Prepare a computation with an array that is wrapped as a parameter or buffer of a module."""
    return lambda: (context.function(values) * 2).detach()


for name in ("torch.nn.Parameter", "torch.nn.Buffer"):
    charted(name, lambda values: 2 * values, held).value("float32-3x4", lambda inputs: [inputs.normal(3, 4)], tags=TAGS)


def held_by_name(context: Context, values: Any) -> Callable[[], Any]:
    return lambda: (context.function({"scale": values})["scale"] * 2).detach()


charted("torch.nn.ParameterDict", lambda values: 2 * values, held_by_name).value(
    "float32-3x4", lambda inputs: [inputs.normal(3, 4)], tags=TAGS
)

concat = charted("torch.concat", np.concatenate)
concat.value("float32-rows", lambda inputs: [[inputs.normal(2, 4), inputs.normal(3, 4)]], tags=TAGS)
concat.value("int64-rows", lambda inputs: [[inputs.integers(2), inputs.integers(3)]], dtype="int64", tags=TAGS)
greater = charted("torch.greater", np.greater)
greater.value("float32-3x4", lambda inputs: [inputs.normal(3, 4), inputs.normal(3, 4)], tags=TAGS)
sigmoid = charted("torch.nn.functional.sigmoid", lambda values: 1 / (1 + np.exp(-values)))
sigmoid.value("float32-3x4", lambda inputs: [inputs.normal(3, 4)], tags=TAGS)


def padded(sequences: list[Array], batch_first: bool) -> Array:
    longest = max(map(len, sequences))
    rows = [np.pad(sequence, [(0, longest - len(sequence)), (0, 0)]) for sequence in sequences]
    return np.stack(rows, axis=0 if batch_first else 1)


pad_sequence = charted("torch.nn.utils.rnn.pad_sequence", padded)
for batch_first in (True, False):
    pad_sequence.value(
        f"float32-{'batch' if batch_first else 'time'}-first",
        lambda inputs: [[inputs.normal(2, 3), inputs.normal(4, 3), inputs.normal(1, 3)]],
        batch_first=batch_first,
        tags=TAGS,
    )


def normalised_layer(context: Context, values: Any, weight: Any, bias: Any) -> Callable[[], Any]:
    """Prepare the call of a linear layer whose weight is stored as a length and a direction. This does not change the
    output of a layer that is not trained."""
    import torch

    layer = torch.nn.Linear(weight.shape[1], weight.shape[0], device=context.device)
    with torch.no_grad():
        layer.weight.copy_(weight)
        layer.bias.copy_(bias)
    parametrized = context.function(layer)
    return lambda: parametrized(values).detach()


charted(
    "torch.nn.utils.parametrizations.weight_norm",
    lambda values, weight, bias: values @ weight.T + bias,
    normalised_layer,
).value("float32-3x4", lambda inputs: [inputs.normal(3, 4), inputs.normal(2, 4), inputs.normal(2)], tags=TAGS)


def differentiated(context: Context, values: Any) -> Callable[[], Any]:
    """Prepare the gradient of an operation with a handwritten backward pass."""

    class Tripled(context.function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(_: Any, given: Any) -> Any:
            return given * 1

        @staticmethod
        def backward(_: Any, gradient: Any) -> Any:
            return gradient * 3

    def call() -> Any:
        leaf = values.clone().requires_grad_()
        (Tripled.apply(leaf) ** 2).sum().backward()
        return leaf.grad

    return call


charted("torch.autograd.Function", lambda values: 6 * values, differentiated).value(
    "float32-3x4", lambda inputs: [inputs.normal(3, 4)], tags=TAGS
)

FORM_TAGS = ("by-hand", "form-only", "random", "no-array", QUICK)


def own_generator(context: Context) -> Callable[[], Any]:
    import torch

    def call() -> Any:
        drawn = []
        for _ in range(2):
            generator = context.function(device=context.device).manual_seed(3)
            drawn.append(torch.rand(3, 4, generator=generator, device=context.device))
        return drawn

    return call


def seeded(context: Context) -> Callable[[], Any]:
    import torch

    def call() -> Any:
        drawn = []
        for _ in range(2):
            context.function(3)
            drawn.append(torch.rand(3, 4, device=context.device))
        return drawn

    return call


for name, prepare in {"torch.Generator": own_generator, "torch.manual_seed": seeded}.items():
    charted(name, prepare=prepare).behaviour("float32-3x4", lambda inputs: [], uniform_twice, tags=FORM_TAGS)


def drawn_twice(context: Context) -> Callable[[], Any]:
    """Prepare two draws without a seed. The cases of the seeding functions test whether a seed repeats the numbers."""
    return lambda: [context.function(3, 4, device=context.device) for _ in range(2)]


def uniform_and_other(observed: Any, *_: Any, **__: Any) -> None:
    """Check two draws of one generator: each is uniform, and they differ."""
    first, second = observed
    for drawn in observed:
        uniform_twice([drawn, drawn])
    if np.array_equal(first.values, second.values):
        raise Mismatch("two draws gave the same numbers")


charted("torch.rand", prepare=drawn_twice).behaviour(
    "float32-3x4", lambda inputs: [], uniform_and_other, tags=FORM_TAGS
)


def spread_about(middle: float, deviation: float) -> Callable[..., None]:
    """Return a check of the mean and the standard deviation of 2,000 numbers. The tolerance is six standard errors of
    the mean."""

    def check(observed: Any, *_: Any, **__: Any) -> None:
        values = observed.values.astype(np.float64)
        error = 6 * deviation / np.sqrt(values.size)
        if abs(values.mean() - middle) > error or abs(values.std() - deviation) > error:
            raise Mismatch(f"expected {middle} ± {deviation}, got {values.mean()} ± {values.std()}")

    return check


IN_PLACE_TAGS = ("by-hand", "form-only", "random", "plain", QUICK)
charted("torch.nn.init.normal_", in_place=True).statistics(
    "float32-50x40", lambda inputs: [inputs.normal(50, 40), 2.0, 0.5], spread_about(2.0, 0.5), tags=IN_PLACE_TAGS
)
charted("torch.nn.init.kaiming_uniform_", in_place=True).statistics(
    "float32-50x40", lambda inputs: [inputs.normal(50, 40)], spread_about(0.0, np.sqrt(2 / 40)), tags=IN_PLACE_TAGS
)
