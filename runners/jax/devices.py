"""JAX's devices: how each is forced, filled, waited for and watched.

What all of them share is in ``JaxDevice``; a subclass says what its device adds. A new
accelerator is a subclass here, its word in ``BY_NAME`` and its variables in ``DEVICES``.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax._src import callback, debugging

from protocol.enums import DeviceClass
from runners.suite.checks import Leaf
from runners.suite.device import Description, DeviceUnavailableError, Proof
from runners.suite.host import cpu_model, libraries, nvidia_driver
from runners.suite.lookup import lookup
from runners.suite.rounding import dtype_on_device
from runners.suite.sequences import aligned
from runners.suite.trees import mapped

FRAMEWORK = "jax"
WIDE = ("float64", "complex128", "int64", "uint64")
"""The types that JAX has only where ``jax_enable_x64`` is on; cases of these types run with it on."""


class JaxDevice:
    """The one platform of this process: JAX was started with it alone in ``JAX_PLATFORMS``."""

    framework = FRAMEWORK
    name: str
    device_class: DeviceClass

    @property
    def handle(self) -> jax.Device:
        return jax.devices()[0]

    def describe(self) -> Description:
        try:
            devices = jax.devices()
        except (RuntimeError, AssertionError) as error:
            # Where no plugin serves the platform, JAX ends in an assertion without words.
            text = (str(error).strip().splitlines() or ["none of its plugins does, or no such device is there"])[0]
            raise DeviceUnavailableError(f"jax {jax.__version__} cannot open {self.name}: {text}") from error
        # A plugin may serve its platform by another name than it is asked for; the host it must not be.
        if self.name != "cpu" and devices[0].platform == "cpu":
            raise DeviceUnavailableError(f"jax {jax.__version__} gave the host CPU instead of {self.name}")
        return Description(
            version=jax.__version__,
            device_class=self.device_class,
            device_count=len(devices),
            hardware=cpu_model() if self.name == "cpu" else str(devices[0].device_kind),
            driver=nvidia_driver() if self.name == "cuda" else None,
            libraries=libraries("jax", "jaxlib", "numpy", "jax-cuda12-plugin", "libtpu"),
        )

    def prime(self) -> None:
        ones = jax.device_put(jnp.ones((8, 8)), self.handle)
        self.wait(ones @ ones + 1)

    def dtype(self, name: str) -> Any:
        found = getattr(jnp, "bool_" if name == "bool" else name, None)
        if found is None:
            raise LookupError(f"jax {jax.__version__} has no dtype {name!r}")
        return jnp.dtype(found)

    def scope(self, dtype: str) -> AbstractContextManager[Any]:
        """64-bit types on for a case of one; else off, as JAX comes."""
        return jax.enable_x64(dtype in WIDE)  # type: ignore[no-any-return]

    def put(self, tree: Any, dtype: str) -> Any:
        """Committed to the device, so that no operation may take them elsewhere; and arrived."""
        moved = mapped(tree, lambda leaf: self._put_array(leaf, dtype), (np.ndarray, np.generic))
        self.wait(moved)
        return moved

    def _put_array(self, values: Any, dtype: str) -> jax.Array:
        array = np.asarray(values)
        return jax.device_put(array.astype(self.dtype(dtype_on_device(array, dtype))), self.handle)

    def take(self, tree: Any) -> Any:
        return mapped(tree, _leaf, (jax.Array, np.ndarray))

    def wait(self, tree: Any) -> None:
        jax.block_until_ready(tree)

    def seed(self, seed: int) -> None:
        random.seed(seed)
        np.random.seed(seed)

    def on_device(self, device: str) -> bool:
        """On the forced one; a collective's result lies on others of its platform as well, named with commas."""
        named = set(device.split(","))
        return str(self.handle) in named and named <= set(map(str, jax.devices()))

    @contextmanager
    def counting(self, proof: Proof) -> Iterator[None]:
        """Functions that call back to the host while they run: counted as they do, whoever compiled them."""
        with _callbacks(proof):
            yield

    @contextmanager
    def tracing(self, proof: Proof) -> Iterator[None]:
        with _callbacks(proof):
            yield

    def compiled(self, call: Callable[[], Any]) -> Callable[[], Any]:
        return call

    def lookup(self, name: str) -> Any:
        return lookup(name, f"jax {jax.__version__}")


class Cpu(JaxDevice):
    name = "cpu"
    device_class = DeviceClass.cpu


class Cuda(JaxDevice):
    name = "cuda"
    device_class = DeviceClass.gpu


class Tpu(JaxDevice):
    name = "tpu"
    device_class = DeviceClass.tpu


BY_NAME: Mapping[str, type[JaxDevice]] = {each.name: each for each in (Cpu, Cuda, Tpu)}

_CALLBACKS = (
    (callback, "pure_callback_impl", "pure_callback"),
    (callback, "io_callback_impl", "io_callback"),
    # The one for debug.print at once; the other for all that is compiled, and debug.callback at once.
    (debugging, "debug_callback_impl", "debug_callback"),
    (debugging.debug_callback_p, "impl", "debug_callback"),
)
"""What every host callback goes through when it runs, on whatever backend; and what to call it."""


@contextmanager
def _callbacks(proof: Proof) -> Iterator[None]:
    kept = [getattr(owner, attribute) for owner, attribute, _ in _CALLBACKS]

    def counted(name: str, implementation: Any) -> Any:
        def call(*arguments: Any, **options: Any) -> Any:
            proof.fallbacks[name] = proof.fallbacks.get(name, 0) + 1
            return implementation(*arguments, **options)

        return call

    for (owner, attribute, name), implementation in aligned(_CALLBACKS, kept):
        setattr(owner, attribute, counted(name, implementation))
    try:
        yield
        jax.effects_barrier()
        # With one platform in the process there is no other way to the host.
        proof.counted = True
    finally:
        for (owner, attribute, _), implementation in aligned(_CALLBACKS, kept):
            setattr(owner, attribute, implementation)


def _leaf(array: Any) -> Leaf:
    if isinstance(array, np.ndarray):
        # What a function computes with NumPy never was on a device.
        return Leaf(array, str(array.dtype), "host")
    if jnp.issubdtype(array.dtype, jax.dtypes.prng_key):
        array = jax.random.key_data(array)
    dtype = str(array.dtype)
    devices = sorted(map(str, array.devices()))
    values = np.asarray(array)
    if dtype == "bfloat16":
        values = values.astype(np.float32)
    return Leaf(values, dtype, ",".join(devices))
