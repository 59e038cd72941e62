"""JAX's devices. For each device, this module forces calls onto the device, creates inputs there, and waits for and
watches its work.

``JaxDevice`` contains what all devices share; a subclass adds what is special about its device. A new accelerator is a
subclass here, declared in ``__init__.py``.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from functools import cache
from operator import attrgetter
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax._src import xla_bridge

from protocol.enums import DeviceClass
from runners.jax import divergence, evidence
from runners.jax.lowering import lower_beside
from runners.jax.placement.executions import count_executions, watch
from runners.suite.checks import Leaf
from runners.suite.device import Description, Device, DeviceUnavailableError, Lowerings, Mend, Operation, Proof
from runners.suite.host import cpu_model, libraries, nvidia_driver
from runners.suite.lookup import lookup
from runners.suite.rounding import dtype_on_device
from runners.suite.trees import mapped

FRAMEWORK = "jax"
AT = "jax.Array.at."
"""The prefix of updates at an index: ``jax.Array.at.set`` stands for ``x.at[index].set(value)``."""


class JaxDevice:
    """A device of JAX. Its platform is the only platform of this process, because ``JAX_PLATFORMS`` names no other."""

    framework = FRAMEWORK
    name: str
    device_class: DeviceClass
    is_host = False
    traces_anew = True
    mends: tuple[Mend, ...] = ()

    @property
    def handle(self) -> jax.Device:
        return jax.devices()[0]

    def describe(self) -> Description:
        try:
            devices = jax.devices()
        except (RuntimeError, AssertionError) as error:
            # If no plugin serves the platform, JAX raises an AssertionError without a message.
            text = (str(error).strip().splitlines() or ["no plugin serves it, or this machine has no such device"])[0]
            raise DeviceUnavailableError(
                f"jax {jax.__version__} cannot open {self.name}: {text}; check that the device and its driver work"
            ) from error
        # A plugin may have another name for its platform, but it must not be the host's.
        if not self.is_host and devices[0].platform == "cpu":
            raise DeviceUnavailableError(
                f"jax {jax.__version__} has no {self.name} here and gave the host CPU instead; install a build of jax "
                "for this device"
            )
        return Description(
            version=jax.__version__,
            device_class=self.device_class,
            device_count=len(devices),
            hardware=cpu_model() if self.is_host else str(devices[0].device_kind),
            driver=nvidia_driver() if self.name == "cuda" else None,
            libraries=libraries("jax", "jaxlib", "numpy", "jax-cuda12-plugin", "libtpu"),
        )

    def is_in_use(self) -> bool:
        return bool(xla_bridge.backends_are_initialized())

    def prime(self) -> None:
        ones = jax.device_put(jnp.ones((8, 8)), self.handle)
        self.wait(ones @ ones + 1)

    def dtype(self, name: str) -> Any:
        value = getattr(jnp, "bool_" if name == "bool" else name, None)
        if value is None:
            raise LookupError(f"jax {jax.__version__} has no dtype {name!r}")
        return jnp.dtype(value)

    def scope(self, dtype: str) -> AbstractContextManager[Any]:
        """Return a scope in which 64-bit types are on for a case with a 64-bit dtype. For other cases they are off, as
        is JAX's default."""
        return jax.enable_x64(dtype in divergence.WIDE)  # type: ignore[no-any-return]

    def to_device(self, tree: Any, dtype: str) -> Any:
        """Move the arrays to the device, and wait until they are there. The arrays are committed, so no operation may
        move them to another device."""
        moved_tree = mapped(tree, lambda leaf: self._array_to_device(leaf, dtype), (np.ndarray, np.generic))
        self.wait(moved_tree)
        return moved_tree

    def _array_to_device(self, values: Any, dtype: str) -> jax.Array:
        array = np.asarray(values)
        return jax.device_put(array.astype(self.dtype(dtype_on_device(array, dtype))), self.handle)

    def to_host(self, tree: Any) -> Any:
        return mapped(tree, _leaf, (jax.Array, np.ndarray))

    def wait(self, tree: Any) -> None:
        jax.block_until_ready(tree)

    def seed(self, seed: int) -> None:
        random.seed(seed)
        np.random.seed(seed)

    def on_device(self, device: str) -> bool:
        """Whether this is the forced device. The result of a collective is on several devices, whose names are joined
        by commas. They must include the forced device, and all belong to its platform."""
        names = set(device.split(","))
        return str(self.handle) in names and names <= set(map(str, jax.devices()))

    @contextmanager
    def counting(self, proof: Proof) -> Iterator[None]:
        """Count executions, transfers and host callbacks when they happen. This costs a microsecond per execution."""
        with count_executions(proof) if self.is_host else watch(proof, self.on_device, self.handle):
            yield

    @contextmanager
    def tracing(self, proof: Proof) -> Iterator[None]:
        with self.counting(proof):
            yield

    def compiled(self, call: Callable[..., Any]) -> Callable[..., Any]:
        return call

    def host(self) -> Device | None:
        return HostBeside()

    def diverging(self, call: Callable[[], object], on_host: Callable[[], object]) -> Operation | None:
        return divergence.diverging(on_host, self.handle, _host_beside(), self.to_host)

    def failing(self, call: Callable[[], object]) -> Operation | None:
        return evidence.failing(call, self.handle.platform)

    def lookup(self, name: str) -> Any:
        if name.startswith(AT):
            return update(name[len(AT) :])
        value = lookup(name, f"jax {jax.__version__}")
        if not getattr(value, "__isabstractmethod__", False):
            return value
        member = name.rpartition(".")[2]
        return attrgetter(member) if isinstance(value, property) else _method(member)


class Cpu(JaxDevice):
    name = "cpu"
    device_class = DeviceClass.cpu
    is_host = True


class HostBeside(Cpu):
    """The host in a process of another platform. A failed call is repeated on the host to explain the failure."""

    @property
    def handle(self) -> jax.Device:
        return _host_beside()

    @contextmanager
    def scope(self, dtype: str) -> Iterator[None]:
        """A scope in which new arrays are on the host by default, instead of on the process's platform."""
        with ExitStack() as stack:
            stack.enter_context(super().scope(dtype))
            stack.enter_context(jax.default_device(self.handle))
            yield


class Cuda(JaxDevice):
    name = "cuda"
    device_class = DeviceClass.gpu


class Tpu(JaxDevice):
    name = "tpu"
    device_class = DeviceClass.tpu


class LoweredDevice(Cpu):
    """A platform that is not available. Programs run on the host, and each is also lowered for the platform."""

    device_class = DeviceClass.other
    platform: str
    called: str

    def describe(self) -> Description:
        note = f"lowered for {self.called} on the host CPU, not run"
        return replace(super().describe(), notes=(note,))

    def lowering(self) -> AbstractContextManager[Lowerings]:
        return lower_beside(self.platform)


class CudaLowered(LoweredDevice):
    name = "cuda-lowered"
    platform = "cuda"
    called = "CUDA"


class TpuLowered(LoweredDevice):
    name = "tpu-lowered"
    platform = "tpu"
    called = "TPU"


@cache
def _host_beside() -> jax.Device:
    """Return the host's CPU, from a client that JAX does not list, so that no case finds a second platform."""
    return xla_bridge.make_cpu_client().local_devices()[0]


def _method(name: str) -> Callable[..., Any]:
    """Return a function that calls the method with this name of its first argument, an array. The class ``jax.Array``
    cannot be used for this, because it is abstract and has no methods."""

    def call(array: Any, *arguments: Any, **options: Any) -> Any:
        return getattr(array, name)(*arguments, **options)

    return call


def update(name: str) -> Callable[..., Any]:
    """Return a function that updates an array at an index: ``call(x, index, value)``."""

    def call(array: Any, index: Any, *arguments: Any, **options: Any) -> Any:
        return getattr(array.at[index], name)(*arguments, **options)

    return call


def _leaf(array: Any) -> Leaf:
    if isinstance(array, np.ndarray):
        # An array that the function computed with NumPy was never on a device.
        return Leaf(array, str(array.dtype), "host")
    if jnp.issubdtype(array.dtype, jax.dtypes.prng_key):
        array = jax.random.key_data(array)
    dtype = str(array.dtype)
    devices = sorted(map(str, array.devices()))
    values = np.asarray(array)
    if dtype == "bfloat16":
        values = values.astype(np.float32)
    return Leaf(values, dtype, ",".join(devices))
