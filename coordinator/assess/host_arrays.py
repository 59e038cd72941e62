"""Host arrays: PyTorch arrays that a source creates on the host and does not move to a device. This module does no I/O.

PyTorch creates an array on the host unless the call or a default names a device. Calls with host arrays run on the
host, whatever the target. Examples: shuffling the indices of a sampler, computing the coordinates of a crop.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from coordinator.assess.arguments import defaults_of
from coordinator.assess.values import CALLED, Alternatives, Elements, HostBatch, Items, Method, Symbol, Thing, array
from coordinator.catalogue.usage.resolver import Binding
from coordinator.results.conditions import CallSite

_MAKERS = frozenset(
    f"torch.{name}"
    for name in """arange bartlett_window blackman_window empty eye from_numpy full hamming_window hann_window
    kaiser_window linspace logspace ones rand randint randn randperm tensor tril_indices triu_indices zeros
    """.split()  # noqa: SIM905
)
"""Functions that create an array without taking another array."""
_MOVES = frozenset({"cuda", "hpu", "ipu", "npu", "to", "type_as", "xpu"})
"""Methods that may put an array on a device."""
_TO_HOST = frozenset({"cpu", "numpy"})
_BATCH_ROOTS: Mapping[str, str] = {"pt": "torch", "tf": "tf", "jax": "jax"}
"""The values of ``return_tensors``, the argument with which tokenizers are asked for the arrays of a framework."""
_METHODS_OF_BATCHES = frozenset({"convert_to_tensors", "copy", "get", "items", "keys", "pop", "to", "update", "values"})
DEFAULTS = frozenset({"torch.set_default_device", "torch.set_default_tensor_type"})
"""Functions that change on which device arrays are created."""
DATA_PACKAGE = "torch.utils.data."
"""The package of data sets, samplers and loaders, which work on the host."""


def is_host_call(
    callee: Binding,
    call: CallSite | None,
    positional: Sequence[Binding],
    keywords: Mapping[str, Binding],
    *,
    is_cast: bool,
) -> bool:
    """Whether a call computes on the host, whatever the target. ``is_cast`` is true if the call only changes the
    dtype."""
    if call is None or "out" in keywords:
        return False
    if "device" in keywords:
        return call.keywords.get("device") == "cpu"
    if not isinstance(callee, Method | str):
        return False
    arguments = [*positional, *keywords.values()]
    match callee:
        case Method(owner=owner, name=name) if owner.is_array:
            return (owner.is_on_host and (name not in _MOVES or is_cast) and not _is_elsewhere(arguments)) or (
                name in _TO_HOST and owner.of == "torch.Tensor"
            )
        case "torch.tensor":
            # A single number has no dimensions, and can be combined with arrays on any device.
            return isinstance(positional[0] if positional else None, Items | Elements) and not _is_elsewhere(arguments)
        case str() if callee in _MAKERS:
            return True
        case str() if callee.startswith("torch."):
            return is_host_operation(*arguments)
        case _:
            return False


def makes_on_host(function: str, call: CallSite | None) -> bool:
    """Whether a call creates an array on the host, as far as its arguments show. ``torch.tensor`` is excluded, because
    a single number can be combined with arrays on any device."""
    is_maker = function in _MAKERS and function != "torch.tensor"
    return is_maker and call is not None and call.keywords.keys().isdisjoint({"device", "out"})


def host_batch(node: ast.Call) -> HostBatch | None:
    """The batch that a call makes on the host: ``tokenizer(text, return_tensors="pt")``; None for other calls."""
    if not node.keywords or any(keyword.arg == "device" for keyword in node.keywords):
        return None
    for keyword in node.keywords:
        match keyword:
            case ast.keyword("return_tensors", ast.Constant(value=str(kind))) if kind in _BATCH_ROOTS:
                return HostBatch(_BATCH_ROOTS[kind])
    return None


def member_of_batch(batch: HostBatch, name: str) -> Binding:
    """An array of a batch: ``batch.input_ids``. None for a method, because it may move the batch to a device."""
    return None if name in _METHODS_OF_BATCHES else array(batch.root, certain=False, is_on_host=True)


def is_move_to_host(callee: Symbol, node: ast.Call) -> bool:
    """Whether a call moves a value of unknown class, most likely an array, to the host: ``batch.cpu()``,
    ``batch["x"].to("cpu")``.

    False for an instance of a class that the code defines, because it may be a module.
    """
    owner, _, method = callee.path.rpartition(".")
    if method not in ("cpu", "to"):
        return False
    if owner.endswith(CALLED) and not owner.endswith(f".detach{CALLED}"):
        return False
    match node:
        case ast.Call(args=[], keywords=[]):
            return method == "cpu"
        case ast.Call(args=[], keywords=[ast.keyword("device", ast.Constant("cpu"))]):
            return method == "to"
        case ast.Call(args=[ast.Constant(value="cpu"), *_]):
            return method == "to"
        case _:
            return False


def takes_host_by_default(arguments: ast.arguments) -> bool:
    """Whether a function has a parameter ``device`` with the host as default: ``device="cpu"``,
    ``device=torch.device("cpu")``."""
    for parameter, default in defaults_of(arguments):
        if parameter.arg == "device":
            match default:
                case ast.Constant("cpu") | ast.Call(func=ast.Attribute(attr="device"), args=[ast.Constant("cpu")]):
                    return True
    return False


def is_host_operation(*operands: Binding) -> bool:
    """Whether an operation computes on the host: at least one of its arrays is on the host, and none is elsewhere."""
    return any(array.is_on_host for array in _arrays(operands)) and not _is_elsewhere(operands)


def on_host(value: Binding) -> Binding:
    """Return the value, but with its arrays on the host."""
    match value:
        case Thing() if value.is_array:
            return value if value.is_on_host else replace(value, is_on_host=True)
        case Elements(of, container):
            return Elements(on_host(of), container)
        case _:
            return value


def anywhere(value: Binding) -> Binding:
    """Return the value, but with its arrays in an unknown place, because a module may move its attributes to a
    device."""
    match value:
        case Thing():
            return replace(value, is_on_host=False) if value.is_on_host else value
        case HostBatch():
            return None
        case Elements(of, container):
            return Elements(anywhere(of), container)
        case Items(values):
            return Items(tuple(map(anywhere, values)))
        case Alternatives(values):
            return Alternatives(tuple(map(anywhere, values)))
        case _:
            return value


def _is_elsewhere(values: Iterable[Binding]) -> bool:
    return any(not array.is_on_host for array in _arrays(values))


def _arrays(values: Iterable[Binding]) -> Iterator[Thing]:
    for value in values:
        match value:
            case Thing() if value.is_array:
                yield value
            case Elements(of):
                yield from _arrays((of,))
            case Items(inner) | Alternatives(inner):
                yield from _arrays(inner)
