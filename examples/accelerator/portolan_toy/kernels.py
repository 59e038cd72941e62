"""The toy's operations: a kernel each, in NumPy. What has none is missing, and torch says so.

Most are the ``out`` form of an operation: torch works out shape and dtype, allocates the
result and derives the other forms from it. What torch composes of other operations works as
soon as those are there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from portolan_toy.memory import allocate, array, dtype_of, tensor

Array = np.ndarray[Any, Any]
Kernel = Callable[..., Any]

_KERNELS: dict[str, Kernel] = {}
_random = np.random.default_rng(0)
_registered: list[torch.library.Library] = []


def register() -> None:
    """Once a process. Torch forgets the kernels with the library that brought them."""
    if _registered:
        return
    library = torch.library.Library("aten", "IMPL")
    for name, each in _KERNELS.items():
        library.impl(name, each, "PrivateUse1")
    # Every other kernel is given such tensors copied out; the copy itself has to look.
    for lazily in ("Conjugate", "Negative"):
        library.impl("_copy_from", torch.library.fallthrough_kernel, lazily)
    _registered.append(library)


def seed(number: int) -> None:
    global _random
    _random = np.random.default_rng(number)


def kernel(name: str) -> Callable[[Kernel], Kernel]:
    def named(function: Kernel) -> Kernel:
        _KERNELS[name] = function
        return function

    return named


def _write(result: Any, out: torch.Tensor) -> torch.Tensor:
    if np.shape(result) != tuple(out.shape):
        raise NotImplementedError(f"the toy device does not resize {tuple(out.shape)} to {np.shape(result)}")
    array(out)[...] = result
    return out


# -- Memory.


@kernel("empty.memory_format")
def _empty(size: Sequence[int], *, dtype: Any = None, memory_format: Any = None, **_: Any) -> torch.Tensor:
    if memory_format not in (None, torch.contiguous_format, torch.preserve_format):
        raise NotImplementedError(f"the toy device lays nothing out as {memory_format}")
    return tensor(np.empty(tuple(size), dtype_of(dtype or torch.get_default_dtype())))


@kernel("empty_strided")
def _empty_strided(size: Sequence[int], stride: Sequence[int], *, dtype: Any = None, **_: Any) -> torch.Tensor:
    return allocate(size, stride, dtype or torch.get_default_dtype())


@kernel("_copy_from")
def _copy_from(source: torch.Tensor, target: torch.Tensor, non_blocking: bool = False) -> torch.Tensor:
    """Both ways over the bus, and within the device."""
    if target.device.type == "cpu":
        return target.copy_(torch.from_numpy(_read(source)))
    on_host = source.device.type == "cpu"
    values = source.detach().resolve_conj().resolve_neg().numpy() if on_host else _read(source)
    array(target)[...] = _flipped(values, target)
    return target


def _read(of: torch.Tensor) -> Array:
    return _flipped(array(of), of)


def _flipped(values: Array, of: torch.Tensor) -> Array:
    """A tensor may stand for the conjugate, or the negative, of what its memory holds."""
    values = np.conj(values) if of.is_conj() else values
    return np.negative(values) if of.is_neg() else values


@kernel("_local_scalar_dense")
def _one_value(of: torch.Tensor) -> Any:
    return array(of).item()


@kernel("fill_.Scalar")
def _fill(of: torch.Tensor, value: Any) -> torch.Tensor:
    array(of)[...] = value
    return of


@kernel("zero_")
def _zero(of: torch.Tensor) -> torch.Tensor:
    return _fill(of, 0)


def _same_memory(operation: Any) -> Kernel:
    """A view touches no memory, so the host's own way to make one is right for every device."""
    return lambda *arguments, **options: operation._op_dk(torch._C.DispatchKey.CPU, *arguments, **options)


kernel("view")(_same_memory(torch.ops.aten.view.default))
kernel("as_strided")(_same_memory(torch.ops.aten.as_strided.default))
kernel("_reshape_alias")(_same_memory(torch.ops.aten._reshape_alias.default))


# -- Element by element.


def _of_one(function: Callable[[Any], Any]) -> Kernel:
    def run(of: torch.Tensor, *, out: torch.Tensor) -> torch.Tensor:
        given = array(of)
        # Only a complex number is measured in another type than it has.
        return _write(function(given if given.dtype.kind == "c" else given.astype(dtype_of(out.dtype))), out)

    return run


for _name, _function in {
    "abs": np.abs,
    "bitwise_not": np.invert,
    "ceil": np.ceil,
    "cos": np.cos,
    "exp": np.exp,
    "floor": np.floor,
    "log": np.log,
    "log1p": np.log1p,
    "neg": np.negative,
    "reciprocal": np.reciprocal,
    "round": np.rint,
    "sign": np.sign,
    "rsqrt": lambda values: 1 / np.sqrt(values),
    "sigmoid": lambda values: 1 / (1 + np.exp(-values)),
    "sin": np.sin,
    "sqrt": np.sqrt,
    "tanh": np.tanh,
}.items():
    kernel(f"{_name}.out")(_of_one(_function))


def _of_two(function: Callable[[Any, Any], Any]) -> Kernel:
    """Both in the dtype of the result."""

    def run(one: torch.Tensor, other: torch.Tensor, *, out: torch.Tensor) -> torch.Tensor:
        stored = dtype_of(out.dtype)
        return _write(function(array(one).astype(stored), array(other).astype(stored)), out)

    return run


for _name, _function in {"div": np.divide, "maximum": np.maximum, "minimum": np.minimum, "mul": np.multiply}.items():
    kernel(f"{_name}.out")(_of_two(_function))


@kernel("add.out")
def _add(one: torch.Tensor, other: torch.Tensor, *, alpha: Any = 1, out: torch.Tensor) -> torch.Tensor:
    stored = dtype_of(out.dtype)
    return _write(array(one).astype(stored) + stored.type(alpha) * array(other).astype(stored), out)


@kernel("sub.out")
def _subtract(one: torch.Tensor, other: torch.Tensor, *, alpha: Any = 1, out: torch.Tensor) -> torch.Tensor:
    return _add(one, other, alpha=-alpha, out=out)


@kernel("pow.Tensor_Scalar_out")
def _power(base: torch.Tensor, exponent: Any, *, out: torch.Tensor) -> torch.Tensor:
    stored = dtype_of(out.dtype)
    return _write(array(base).astype(stored) ** stored.type(exponent), out)


def _comparing(function: Callable[[Any, Any], Any]) -> Kernel:
    """Both in the dtype that torch would compute with."""

    def run(one: torch.Tensor, other: Any, *, out: torch.Tensor) -> torch.Tensor:
        common = dtype_of(torch.result_type(one, other))
        return _write(function(array(one).astype(common), array(other).astype(common)), out)

    return run


for _name, _comparison in {
    "eq": np.equal,
    "ge": np.greater_equal,
    "gt": np.greater,
    "le": np.less_equal,
    "lt": np.less,
    "ne": np.not_equal,
}.items():
    kernel(f"{_name}.Tensor_out")(_comparing(_comparison))
    kernel(f"{_name}.Scalar_out")(_comparing(_comparison))


@kernel("addcmul.out")
def _add_product(
    base: torch.Tensor, one: torch.Tensor, other: torch.Tensor, *, value: Any = 1, out: torch.Tensor
) -> torch.Tensor:
    return _write(array(base) + dtype_of(out.dtype).type(value) * array(one) * array(other), out)


@kernel("addcdiv.out")
def _add_quotient(
    base: torch.Tensor, one: torch.Tensor, other: torch.Tensor, *, value: Any = 1, out: torch.Tensor
) -> torch.Tensor:
    return _write(array(base) + dtype_of(out.dtype).type(value) * array(one) / array(other), out)


# -- Several to one, many to one.


@kernel("cat.out")
def _concatenated(tensors: Sequence[torch.Tensor], dim: int = 0, *, out: torch.Tensor) -> torch.Tensor:
    # Torch lets an empty list of no shape stand beside anything.
    given = [array(each).astype(dtype_of(out.dtype)) for each in tensors if each.shape != (0,)]
    return _write(np.concatenate(given, axis=dim) if given else np.empty(0, dtype_of(out.dtype)), out)


def _reducing(function: Callable[..., Any]) -> Kernel:
    def run(
        of: torch.Tensor,
        dim: Sequence[int] | None = None,
        keepdim: bool = False,
        *,
        dtype: Any = None,
        out: torch.Tensor,
    ) -> torch.Tensor:
        stored = dtype_of(out.dtype)
        # Half precision is too short to hold a sum on its way.
        wide = np.dtype(np.float32) if stored == np.float16 else stored
        values = array(of).astype(wide)
        return _write(function(values, axis=tuple(dim) if dim else None, keepdims=keepdim).astype(stored), out)

    return run


kernel("sum.IntList_out")(_reducing(np.sum))
kernel("mean.out")(_reducing(np.mean))


@kernel("max")
def _greatest(of: torch.Tensor) -> torch.Tensor:
    return tensor(np.asarray(array(of).max()))


@kernel("min")
def _least(of: torch.Tensor) -> torch.Tensor:
    return tensor(np.asarray(array(of).min()))


# -- Matrices.


@kernel("mm.out")
def _product(one: torch.Tensor, other: torch.Tensor, *, out: torch.Tensor) -> torch.Tensor:
    return _write(array(one) @ array(other), out)


@kernel("bmm.out")
def _products(one: torch.Tensor, other: torch.Tensor, *, out: torch.Tensor) -> torch.Tensor:
    return _write(array(one) @ array(other), out)


@kernel("addmm.out")
def _added_product(
    base: torch.Tensor, one: torch.Tensor, other: torch.Tensor, *, beta: Any = 1, alpha: Any = 1, out: torch.Tensor
) -> torch.Tensor:
    number = dtype_of(out.dtype).type
    return _write(number(beta) * array(base) + number(alpha) * (array(one) @ array(other)), out)


# -- New values.


@kernel("uniform_")
def _uniform(of: torch.Tensor, low: float = 0.0, high: float = 1.0, *, generator: Any = None) -> torch.Tensor:
    _refuse(generator)
    array(of)[...] = _random.uniform(low, high, tuple(of.shape))
    return of


@kernel("normal_")
def _normal(of: torch.Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Any = None) -> torch.Tensor:
    _refuse(generator)
    array(of)[...] = _random.normal(mean, std, tuple(of.shape))
    return of


def _refuse(generator: Any) -> None:
    if generator is not None:
        raise NotImplementedError("the toy device has one generator, its own")


# -- Taken to the host without a word: the result looks as if the device had done it.


def _on_the_host(operation: Any) -> Kernel:
    def run(*arguments: Any, **options: Any) -> Any:
        given = [each.cpu() if isinstance(each, torch.Tensor) else each for each in arguments]
        results = operation(*given, **options)
        return tuple(each.to("toy:0") for each in results)

    return run


kernel("sort.stable")(_on_the_host(torch.ops.aten.sort.stable))
