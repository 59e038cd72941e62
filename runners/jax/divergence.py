"""The first primitive of a call of JAX whose result is not the one that the host computes of the same inputs.

The call is traced as it is prepared for the host. Its equations are evaluated there one after the other, and each is
computed a second time by the device, of the inputs that it had on the host. So an operation is accused by its own
inputs: what was wrong before it does not count against it. Functions that equations call are entered; a loop or a
branch is one operation. What only goes wrong where operations are compiled together is not found, and no operation is
accused of it.
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
"""Primitives whose result is not determined by their inputs: room that holds anything, random numbers of the platform's
own choice, and factorisations of which there are several."""

WIDE = ("float64", "complex128", "int64", "uint64")
"""The types that JAX has only where ``jax_enable_x64`` is on."""

ToHost = Callable[[Any], Any]
"""Makes of each array of a tree a ``Leaf``."""


def diverging(on_host: Callable[[], object], device: jax.Device, host: jax.Device, to_host: ToHost) -> Operation | None:
    """Evaluate a call by its equations, and name the first that the device computes otherwise than the host."""
    comparison = _Comparison(device, host, to_host)
    try:
        program = jax.make_jaxpr(on_host)()
        # The call had its own setting; without it, wide types would be made narrow here.
        with jax.enable_x64(_is_wide(program.jaxpr)):
            comparison.evaluate(program.jaxpr, program.consts, ())
    except BaseException:  # it ended, or the call cannot be traced, or the reference is wrong on the host as well
        pass
    return comparison.found


class _EndOfSearch(Exception):
    """An operation was found, or the time is up."""


class _Comparison:
    """Has the device compute each equation beside the host, until one differs or the time is up."""

    def __init__(self, device: jax.Device, host: jax.Device, to_host: ToHost) -> None:
        self.found: Operation | None = None
        self._device = device
        self._host = host
        self._to_host = to_host
        self._until = monotonic() + divergence.COMPARED_FOR_S

    def evaluate(self, jaxpr: Any, constants: Sequence[Any], arguments: Sequence[Any]) -> list[Any]:
        """The results on the host. Raises ``_EndOfSearch``."""
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
            # Some hold a function with its constants, some one without any.
            return self.evaluate(getattr(function, "jaxpr", function), getattr(function, "consts", ()), inputs)
        host_results = _run(equation, inputs, self._host)
        if _is_comparable(equation) and self._differs(equation, inputs, host_results):
            self.found = Operation(name, tuple(str(atom.aval.dtype) for atom in _arrays(equation.invars)))
            raise _EndOfSearch
        return host_results

    def _differs(self, equation: Any, inputs: Sequence[Any], host_results: Sequence[Any]) -> bool:
        """Whether the device's results are not the host's. What cannot be computed there alone counts as equal."""
        try:
            device_results = _run(equation, inputs, self._device)
            return divergence.are_other(self._to_host(device_results), self._to_host(host_results))
        except Exception:
            return False


def _run(equation: Any, inputs: Sequence[Any], device: jax.Device) -> list[Any]:
    """The results of an equation, computed alone by a device."""
    primitive = equation.primitive
    with jax.default_device(device), equation.ctx.manager:
        results = primitive.bind(*jax.device_put(list(inputs), device), **primitive.get_bind_params(equation.params))
    return list(results) if primitive.multiple_results else [results]


def _value(atom: Any, values: Mapping[Any, Any]) -> Any:
    """The value of a variable; of a literal, in the dtype that the equation takes it for."""
    return np.asarray(atom.val, atom.aval.dtype) if isinstance(atom, core.Literal) else values[atom]


def _is_comparable(equation: Any) -> bool:
    """Whether it is an operation without effects, small enough to be copied, whose inputs determine its result."""
    if equation.effects or equation.primitive.name in _UNDETERMINED:
        return False
    elements: int = sum(atom.aval.size for atom in _arrays(equation.invars))
    return elements <= divergence.MAX_ELEMENTS


def _arrays(atoms: Sequence[Any]) -> list[Any]:
    return [atom for atom in atoms if hasattr(atom.aval, "dtype")]


def _is_wide(jaxpr: Any) -> bool:
    """Whether a function, or one that it holds, has arrays of the types that are off unless they are asked for."""
    atoms = [*jaxpr.constvars, *jaxpr.invars]
    for equation in jaxpr.eqns:
        atoms += [*equation.invars, *equation.outvars]
    is_wide = any(str(atom.aval.dtype) in WIDE for atom in _arrays(atoms))
    return is_wide or any(map(_is_wide, internals.subjaxprs(jaxpr)))
