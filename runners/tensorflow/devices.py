"""TensorFlow's devices. For each device, this module forces calls onto the device, creates inputs there, and waits for
and watches its work.

``TensorFlowDevice`` contains what all devices share; a subclass adds what is special about its device. A new
accelerator is a subclass here, declared in ``__init__.py``.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.core.function.capture import capture_container

from protocol.enums import DeviceClass
from runners.suite.checks import Leaf
from runners.suite.device import Description, Device, DeviceUnavailableError, Mend, Operation, Proof
from runners.suite.host import cpu_model, libraries, nvidia_driver
from runners.suite.lookup import lookup
from runners.suite.rounding import dtype_on_device
from runners.suite.trees import mapped
from runners.tensorflow import divergence, evidence
from runners.tensorflow.placement.sessions import Fetched, device_of
from runners.tensorflow.placement.watch import CompiledWatch, HostWatch, Watch

FRAMEWORK = "tensorflow"
COMPOSITE = (tf.RaggedTensor, tf.SparseTensor, tf.IndexedSlices)


class TensorFlowDevice:
    """A device that ``tf.device`` names. The process enters the device once, for its whole life."""

    framework = FRAMEWORK
    name: str
    is_host = False
    traces_anew = False
    mends: tuple[Mend, ...] = ()
    kind: str
    """TensorFlow's name for this kind of device: ``CPU``, ``GPU``, ``TPU``."""
    device_class: DeviceClass
    watch_type: type[Watch] = Watch
    _watching: Watch | None = None
    compiled_kind: str | None = None
    """TensorFlow's name for the device of the compiler's kernels, if calls are compiled."""

    @property
    def handle(self) -> str:
        return f"/device:{self.kind}:0"

    def describe(self) -> Description:
        devices = tf.config.list_physical_devices(self.kind)
        if not devices:
            raise DeviceUnavailableError(
                f"tensorflow {tf.__version__} sees no {self.kind} on this machine; check the driver, and that this "
                f"build of tensorflow supports {self.kind}"
            )
        details = tf.config.experimental.get_device_details(devices[0])
        return Description(
            version=tf.__version__,
            device_class=self.device_class,
            device_count=len(devices),
            hardware=details.get("device_name") or (cpu_model() if self.kind == "CPU" else self.kind),
            driver=nvidia_driver() if self.kind == "GPU" else None,
            threads=tf.config.threading.get_intra_op_parallelism_threads() or None,
            libraries=libraries("tensorflow", "tensorflow-cpu", "tensorflow-tpu", "keras", "numpy"),
        )

    def prime(self) -> None:
        # Without these settings, TensorFlow would silently run on the host whatever the device cannot run.
        tf.config.set_soft_device_placement(False)
        tf.config.experimental.set_device_policy("explicit")
        # The frames of an error show what was called. TensorFlow would hide its own frames.
        tf.debugging.disable_traceback_filtering()
        # TensorFlow writes a small host array into the graph as a constant if a function closes over it. This is
        # switched off, because users pass arrays of any size as arguments.
        capture_container._EAGER_CONST_THRESHOLD = -1
        with self.scope("float32"):
            ones = self.to_device(np.ones((8, 8)), "float32")
            self.wait(self.compiled(lambda: tf.linalg.matmul(ones, ones) + 1.0)())

    def dtype(self, name: str) -> tf.DType:
        try:
            return tf.dtypes.as_dtype(name)
        except TypeError:
            raise LookupError(f"tensorflow {tf.__version__} has no dtype {name!r}") from None

    def scope(self, dtype: str) -> AbstractContextManager[Any]:
        """Return a scope that places on the device everything that runs eagerly in it, and every ``tf.function`` called
        in it.

        A scope outside of a graph does not affect the graph, so cases in a graph enter ``context.device`` again.
        """
        return tf.device(self.handle)  # type: ignore[no-any-return]

    def to_device(self, tree: Any, dtype: str) -> Any:
        return mapped(tree, lambda leaf: self._array_to_device(leaf, dtype), (np.ndarray, np.generic))

    def _array_to_device(self, values: Any, dtype: str) -> tf.Tensor:
        array = np.asarray(values)
        if array.dtype.kind not in "fciub":
            with tf.device("/device:CPU:0"):
                return tf.constant(array)
        numpy_dtype = self.dtype(dtype_on_device(array, dtype)).as_numpy_dtype
        with tf.device("/device:CPU:0"):
            host = tf.constant(array.astype(numpy_dtype))
        with tf.device(self.handle):
            return tf.identity(host)

    def to_host(self, tree: Any) -> Any:
        return mapped(tree, _host, (tf.Tensor, tf.Variable, np.ndarray, *COMPOSITE))

    def wait(self, tree: Any) -> None:
        """Return immediately: an operation on the host is complete when it returns."""

    def seed(self, seed: int) -> None:
        random.seed(seed)
        np.random.seed(seed)
        tf.random.set_seed(seed)

    def on_device(self, device: str) -> bool:
        return device == f"{self.kind}:0"

    def counting(self, proof: Proof) -> AbstractContextManager[None]:
        return self._watch(proof).watching()

    def tracing(self, proof: Proof) -> AbstractContextManager[None]:
        return self._watch(proof).watching(sessions=True)

    def _watch(self, proof: Proof) -> Watch:
        """Return the watch of the case to which this proof belongs. All calls of a case have the same watch."""
        if self._watching is None or self._watching.proof is not proof:
            self._watching = self.watch_type(self.on_device, proof)
        return self._watching

    def compiled(self, call: Callable[..., Any]) -> Callable[..., Any]:
        return call

    def host(self) -> Device | None:
        return Cpu()

    def failing(self, call: Callable[[], object]) -> Operation | None:
        return evidence.failing(call, self.kind, self.compiled_kind)

    def diverging(self, call: Callable[[], object], on_host: Callable[[], object]) -> Operation | None:
        """For a device that is a compiler, compare its results with the host's, operation by operation. Other devices
        are not compared."""
        return None if self.compiled_kind is None else divergence.diverging(on_host, self.compiled, self.to_host)

    def lookup(self, name: str) -> Any:
        # The study's names begin with the usual abbreviation ``tf``.
        full = "tensorflow" + name.removeprefix("tf") if name.split(".")[0] == "tf" else name
        try:
            return lookup(full, f"tensorflow {tf.__version__}")
        except LookupError:
            raise LookupError(f"tensorflow {tf.__version__} has no {name}") from None


class Cpu(TensorFlowDevice):
    name = "cpu"
    is_host = True
    kind = "CPU"
    device_class = DeviceClass.cpu
    watch_type: type[Watch] = HostWatch


class Graph(Cpu):
    """The host. Every call runs in a graph, as for a compiler, but is not compiled."""

    def compiled(self, call: Callable[..., Any]) -> Callable[..., Any]:
        return in_graph(call, jit_compile=False)


class Xla(Cpu):
    """The host as an XLA device. Every call is compiled as a whole, as on a TPU, and operations outside of the compiled
    program are a fallback."""

    name = "xla"
    is_host = False
    watch_type = CompiledWatch
    compiled_kind = "XLA_CPU_JIT"

    def describe(self) -> Description:
        return dataclasses.replace(super().describe(), notes=("XLA on the host CPU, not a TPU",))

    def compiled(self, call: Callable[..., Any]) -> Callable[..., Any]:
        return in_graph(call, jit_compile=True)

    def graph(self) -> Device | None:
        return Graph()


class Gpu(TensorFlowDevice):
    name = "gpu"
    kind = "GPU"
    device_class = DeviceClass.gpu

    def wait(self, tree: Any) -> None:
        # This waits for all devices and copies nothing. Without it, kernels would be launched, but not finished.
        tf.test.experimental.sync_devices()


class Tpu(Gpu):
    name = "tpu"
    kind = "TPU"
    device_class = DeviceClass.tpu
    compiled_kind = "XLA_TPU_JIT"

    def describe(self) -> Description:
        self._connect()
        return super().describe()

    def prime(self) -> None:
        self._connect()
        super().prime()

    def compiled(self, call: Callable[..., Any]) -> Callable[..., Any]:
        return in_graph(call, jit_compile=True)

    def graph(self) -> Device | None:
        return Graph()

    def _connect(self) -> None:
        try:
            resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu="local")
            tf.tpu.experimental.initialize_tpu_system(resolver)
        except Exception as error:
            text = (str(error).strip().splitlines() or [type(error).__name__])[0]
            raise DeviceUnavailableError(
                f"tensorflow {tf.__version__} cannot open a TPU: {text}; check that this machine has one, and libtpu"
            ) from error


def in_graph(call: Callable[..., Any], *, jit_compile: bool) -> Callable[..., Any]:
    """Return the call as a user's function in a graph, compiled if ``jit_compile`` is true.

    AutoGraph would convert the source of a function given directly to ``tf.function``, even TensorFlow's own or one
    behind ``partial``, and the first call would include the time for this. AutoGraph does not convert TensorFlow
    functions that a user's function calls.
    """

    def whole(*arguments: Any) -> Any:
        return call(*arguments)

    return tf.function(whole, jit_compile=jit_compile)  # type: ignore[no-any-return]


def _device(tensor: Any) -> str:
    """Return ``CPU:0`` from a tensor's full device name; ``host`` if the tensor has no device."""
    return device_of(str(tensor.device))


def _host(value: Any) -> Any:
    """Return the host copy of one tensor. A composite tensor becomes a dict of its components."""
    if isinstance(value, Fetched):
        array = np.asarray(value)
        dtype = _dtype(array)
        return Leaf(array.astype(np.float32) if dtype == "bfloat16" else array, dtype, value.placed)
    if isinstance(value, np.ndarray):
        # An array that the function computed with NumPy was never on a device.
        return Leaf(value, _dtype(value), "host")
    if isinstance(value, tf.RaggedTensor):
        return {"values": _host(value.flat_values), "row_splits": [_host(splits) for splits in value.nested_row_splits]}
    if isinstance(value, tf.SparseTensor):
        return {"indices": _host(value.indices), "values": _host(value.values), "shape": _host(value.dense_shape)}
    if isinstance(value, tf.IndexedSlices):
        return {"indices": _host(value.indices), "values": _host(value.values)}
    if not tf.executing_eagerly():
        # A later line may change the variable, so its current value is read.
        return value.read_value() if isinstance(value, tf.Variable) else value
    if not hasattr(value, "numpy"):
        return value
    array = np.asarray(value.numpy())
    dtype = value.dtype.name
    if dtype == "bfloat16":
        array = array.astype(np.float32)
    return Leaf(array, dtype, _device(value))


def _dtype(array: np.ndarray[Any, Any]) -> str:
    return "string" if array.dtype.kind in "OSU" else str(array.dtype)
