"""Finds the first primitive of a JAX call whose result differs from the host's result for the same inputs.

The call is traced in its form for the host. The host evaluates its equations one after the other, and the device
computes each equation again with the host's inputs. So each operation is judged by its own inputs: earlier wrong
results do not count against it. If an equation calls a function, the function's equations are compared one by one. A
loop or a branch counts as one operation. Errors that occur only when operations are compiled together are not found.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from typing import Any

import jax
import numpy as np
from jax._src import core as internals
from jax.extend import core

from runners.jax.evidence import CALLS
from runners.suite import divergence
from runners.suite.device import Operation

_MOVES = frozenset({"device_put"})
"""Primitives that compute nothing, and whose parameters name a device."""
_UNDETERMINED = frozenset(
    {"rng_uniform", "rng_bit_generator", "empty", "svd", "eigh", "eig", "qr", "geqrf", "geqp3", "schur", "hessenberg",
     "tridiagonal"}
)  # fmt: skip
"""Primitives whose result is not determined by their inputs: uninitialized memory, random numbers chosen by the
platform, and factorizations that are not unique."""

WIDE = ("float64", "complex128", "int64", "uint64")
"""The types that JAX supports only if ``jax_enable_x64`` is on."""

ToHost = Callable[[Any], Any]
"""A function that returns a ``Leaf`` for each array of a tree."""


def diverging(on_host: Callable[[], object], device: jax.Device, host: jax.Device, to_host: ToHost) -> Operation | None:
    """Evaluate a call equation by equation, and return the first equation whose result on the device differs from the
    host's."""
    comparison = _Comparison(device, host, to_host)
    try:
        program = jax.make_jaxpr(on_host)()
        # The call had its own setting. Without it, JAX would convert wide types to narrow ones here.
        with jax.enable_x64(_is_wide(program.jaxpr)):
            comparison.evaluate(program.jaxpr, program.consts, ())
    except BaseException:  # the search ended, the call cannot be traced, or the reference also fails on the host
        pass
    return comparison.found


class _EndOfSearch(Exception):
    """Ends the search: an operation was found, or the time is up."""


class _Comparison:
    """Computes each equation on the host and on the device, until one differs or the time is up."""

    def __init__(self, device: jax.Device, host: jax.Device, to_host: ToHost) -> None:
        self.found: Operation | None = None
        self._device = device
        self._host = host
        self._to_host = to_host
        self._until = monotonic() + divergence.COMPARED_FOR_S

    def evaluate(self, jaxpr: Any, constants: Sequence[Any], arguments: Sequence[Any]) -> list[Any]:
        """Evaluate equations and return the results on the host. Raise ``_EndOfSearch`` when the search ends."""
        values = dict(zip((*jaxpr.constvars, *jaxpr.invars), (*constants, *arguments)))
        for equation in jaxpr.eqns:
            results = self._compute(equation, [_value(atom, values) for atom in equation.invars])
            values.update(zip(equation.outvars, results))
        return [_value(atom, values) for atom in jaxpr.outvars]

    def _compute(self, equation: Any, inputs: Sequence[Any]) -> Sequence[Any]:
        if monotonic() > self._until:
            raise _EndOfSearch
        name = equation.primitive.name
        if name in _MOVES:
            return inputs
        if name in CALLS:
            function = equation.params.get("call_jaxpr") or equation.params["jaxpr"]
            # Some primitives have a function with its constants, others a function without constants.
            return self.evaluate(getattr(function, "jaxpr", function), getattr(function, "consts", ()), inputs)
        host_results = _run(equation, inputs, self._host)
        if _is_comparable(equation) and self._differs(equation, inputs, host_results):
            self.found = Operation(name, tuple(str(atom.aval.dtype) for atom in _arrays(equation.invars)))
            raise _EndOfSearch
        return host_results

    def _differs(self, equation: Any, inputs: Sequence[Any], host_results: Sequence[Any]) -> bool:
        """Whether the device's results differ from the host's. An equation that cannot be computed alone on the device
        counts as equal."""
        try:
            device_results = _run(equation, inputs, self._device)
            return divergence.are_other(self._to_host(device_results), self._to_host(host_results))
        except Exception:
            return False


def _run(equation: Any, inputs: Sequence[Any], device: jax.Device) -> list[Any]:
    """Return the results of an equation, computed alone on a device."""
    primitive = equation.primitive
    with jax.default_device(device), equation.ctx.manager:
        results = primitive.bind(*jax.device_put(list(inputs), device), **primitive.get_bind_params(equation.params))
    return list(results) if primitive.multiple_results else [results]


def _value(atom: Any, values: Mapping[Any, Any]) -> Any:
    """Return the value of a variable, or of a literal in the dtype that the equation uses for it."""
    return np.asarray(atom.val, atom.aval.dtype) if isinstance(atom, core.Literal) else values[atom]


def _is_comparable(equation: Any) -> bool:
    """Whether the operation has no effects, is small enough to be copied, and is determined by its inputs."""
    if equation.effects or equation.primitive.name in _UNDETERMINED:
        return False
    elements: int = sum(atom.aval.size for atom in _arrays(equation.invars))
    return elements <= divergence.MAX_ELEMENTS


def _arrays(atoms: Sequence[Any]) -> list[Any]:
    return [atom for atom in atoms if hasattr(atom.aval, "dtype")]


def _is_wide(jaxpr: Any) -> bool:
    """Whether a function, or a function inside it, has arrays of types that JAX supports only if ``jax_enable_x64`` is
    on."""
    atoms = [*jaxpr.constvars, *jaxpr.invars]
    for equation in jaxpr.eqns:
        atoms += [*equation.invars, *equation.outvars]
    is_wide = any(str(atom.aval.dtype) in WIDE for atom in _arrays(atoms))
    return is_wide or any(map(_is_wide, internals.subjaxprs(jaxpr)))
