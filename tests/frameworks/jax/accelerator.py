"""A device that JAX has everywhere and that is no host: the first CPU, beside which the host is another client.

And a primitive that it computes wrong: the sigmoid, where the host has the hyperbolic tangent.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax._src.interpreters import mlir
from jax.extend.core import Primitive
from jax.interpreters import ad, batching

from protocol.enums import DeviceClass
from runners.jax.devices import JaxDevice

WRONG = Primitive("wrong_tanh")


class Accelerator(JaxDevice):
    name = "accelerator"
    device_class = DeviceClass.other


def wrong_tanh(values: Any) -> Any:
    return WRONG.bind(values)


def _lower(context: Any, values: Any) -> Any:
    is_accelerator = context.module_context.get_backend() is jax.devices()[0].client
    rule = mlir.lower_fun(jax.nn.sigmoid if is_accelerator else jnp.tanh, multiple_results=False)
    return rule(context, values)


WRONG.def_abstract_eval(lambda values: values)
WRONG.def_impl(jax.jit(WRONG.bind))
mlir.register_lowering(WRONG, _lower)
batching.defvectorized(WRONG)
ad.defjvp(WRONG, lambda tangent, values: tangent * (1 - jnp.tanh(values) ** 2))
