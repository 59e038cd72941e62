"""PyTorch's devices. For each device, this module forces calls onto the device, creates inputs there, and waits for and
watches its work.

``TorchDevice`` contains what all devices share; a subclass adds what is special about its device. Portolan's devices
are subclasses in this file, declared in ``__init__.py``. Other devices are subclasses in separate packages, which
``runners/frameworks.py`` finds.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Any

import numpy as np
import torch

from protocol.enums import DeviceClass
from runners.suite.checks import Leaf
from runners.suite.device import Description, Device, DeviceUnavailableError, Mend, Operation, Proof
from runners.suite.host import cpu_model, libraries, nvidia_driver
from runners.suite.lookup import lookup
from runners.suite.rounding import dtype_on_device
from runners.suite.trees import mapped
from runners.torch import divergence, evidence
from runners.torch.placement.activity import counting_kernels
from runners.torch.placement.dispatch import DispatchWatch
from runners.torch.placement.methods import watched_export, watched_methods
from runners.torch.placement.metrics import Metrics, operations
from runners.torch.placement.threads import entered_by_threads
from runners.torch.placement.transfers import Transfers

FRAMEWORK = "torch"


class TorchDevice:
    """A device that torch addresses through ``torch.device``. By default it is eager and runs operations in order."""

    framework = FRAMEWORK
    name: str
    is_host = False
    traces_anew = True
    mends: tuple[Mend, ...] = ()
    handle_name: str
    """The device name that arrays on the device report."""
    watches_kernels = True
    """Whether fallbacks are also searched for inside the device's own kernels. If not, the device counts executions in
    ``counting``, or its ``counting`` explains why nothing can fall back."""

    @property
    def handle(self) -> torch.device:
        return torch.device(self.handle_name)

    def describe(self) -> Description:
        raise NotImplementedError

    def prime(self) -> None:
        ones = torch.ones(8, 8).to(self.handle)
        self.wait(ones @ ones + 1)

    def dtype(self, name: str) -> torch.dtype:
        value = getattr(torch, name, None)
        if not isinstance(value, torch.dtype):
            raise LookupError(f"torch has no dtype {name!r}")
        return value

    def scope(self, dtype: str) -> AbstractContextManager[None]:
        return nullcontext()

    def to_device(self, tree: Any, dtype: str) -> Any:
        return mapped(tree, lambda leaf: self._array_to_device(leaf, dtype), (np.ndarray, np.generic))

    def _array_to_device(self, values: Any, dtype: str) -> torch.Tensor:
        array = np.ascontiguousarray(values).reshape(np.shape(values))
        # Copy even on the CPU, so that a case that works in place does not change the host's own inputs.
        host = torch.from_numpy(array).to(self.dtype(dtype_on_device(array, dtype)), copy=True)
        return host.to(self.handle)

    def to_host(self, tree: Any) -> Any:
        return mapped(tree, _leaf, torch.Tensor)

    def wait(self, tree: Any) -> None:
        """Return immediately: an operation on the host is complete when it returns."""

    def seed(self, seed: int) -> None:
        random.seed(seed)
        np.random.seed(seed)
        # torch.manual_seed would also seed devices that are not present, which takes 1 ms per case.
        torch.default_generator.manual_seed(seed)

    def on_device(self, device: str) -> bool:
        return device == self.handle_name

    @contextmanager
    def counting(self, proof: Proof) -> Iterator[None]:
        """Watch the methods that move values. Torch itself has no counters.

        A subclass for a device with counters reads them here and sets ``proof.counted``. Watching methods alone does
        not show what a kernel does.
        """
        transfers = Transfers(self.on_device)
        with watched_methods(transfers):
            yield
        if not proof.fallbacks:
            proof.judge(transfers.record.events)

    @contextmanager
    def tracing(self, proof: Proof) -> Iterator[None]:
        """Watch the operations that torch dispatches in every thread, down into the device's kernels.

        A copy to the host inside a kernel is a fallback. An operation that reaches one of the device's own kernels
        counts as executed.
        """
        transfers = Transfers(self.on_device)
        watches: list[DispatchWatch] = []

        def watch() -> DispatchWatch:
            watches.append(DispatchWatch(self, proof, transfers))
            return watches[-1]

        with entered_by_threads(watch), watch():
            yield
        if not self.is_host:
            proof.judge(transfers.record.events)
            _drop_methods(proof)
        if self.watches_kernels:
            proof.executions(sum(one.executed for one in watches))
            doubts = {doubt for one in watches for doubt in one.doubts}
            proof.counted |= not doubts
            proof.doubts |= doubts

    def host(self) -> Device | None:
        return Cpu()

    def failing(self, call: Callable[[], object]) -> Operation | None:
        return evidence.failing(call, self.handle)

    def diverging(self, call: Callable[[], object], on_host: Callable[[], object]) -> Operation | None:
        return divergence.diverging(call, self.handle, self.to_host)

    def lookup(self, name: str) -> Any:
        return lookup(name, f"torch {version()}")

    def compiled(self, call: Callable[..., Any]) -> Callable[..., Any]:
        return call


class Cpu(TorchDevice):
    """The host as the device. Nothing can fall back to it."""

    name = "cpu"
    is_host = True
    handle_name = "cpu"
    watches_kernels = False

    def describe(self) -> Description:
        return Description(
            version=version(),
            device_class=DeviceClass.cpu,
            device_count=1,
            hardware=cpu_model(),
            threads=torch.get_num_threads(),
            libraries=libraries("torch", "numpy"),
        )

    def share_cores(self, threads: int) -> None:
        torch.set_num_threads(threads)

    @contextmanager
    def counting(self, proof: Proof) -> Iterator[None]:
        proof.counted = True
        yield


class Cuda(TorchDevice):
    """An NVIDIA GPU. An operation without a kernel raises an error. Some kernels read lengths or pivots on the host,
    which is correct."""

    name = "cuda"
    handle_name = "cuda:0"
    watches_kernels = False

    def is_in_use(self) -> bool:
        return bool(torch.cuda.is_initialized())

    def describe(self) -> Description:
        if torch.cuda._is_in_bad_fork():
            raise DeviceUnavailableError(
                f"importing torch {version()} initialized CUDA, so forked processes cannot use it; "
                "find the package in this environment that initializes CUDA when it is imported"
            )
        if not torch.cuda.is_available():
            cuda_version = torch.version.cuda
            raise DeviceUnavailableError(
                f"torch {version()} sees no CUDA device; check that nvidia-smi lists one on this machine"
                if cuda_version
                else f"torch {version()} was built without CUDA; install a build that has it"
            )
        return Description(
            version=version(),
            device_class=DeviceClass.gpu,
            device_count=torch.cuda.device_count(),
            hardware=torch.cuda.get_device_name(0),
            driver=nvidia_driver(),
            threads=torch.get_num_threads(),
            libraries=libraries("torch", "numpy") | {"cuda": str(torch.version.cuda)},
        )

    @contextmanager
    def counting(self, proof: Proof) -> Iterator[None]:
        with super().counting(proof):
            yield
        proof.counted = True

    @contextmanager
    def tracing(self, proof: Proof) -> Iterator[None]:
        with counting_kernels(proof), super().tracing(proof):
            yield

    def wait(self, tree: Any) -> None:
        torch.cuda.synchronize()

    def seed(self, seed: int) -> None:
        super().seed(seed)
        torch.cuda.manual_seed_all(seed)


class Xla(TorchDevice):
    """A device of torch_xla. Its execution is lazy, so nothing runs before a sync, and operations without a lowering
    silently run on the host."""

    name = "xla"
    handle_name = "xla:0"
    watches_kernels = False
    mends = (
        Mend(
            "a copy of complex128 to the host loses the imaginary part",
            shown_by="torch.Tensor.to/complex128-there-and-back",
        ),
    )

    def __init__(self) -> None:
        import torch_xla
        import torch_xla.core.xla_model
        import torch_xla.debug.metrics

        self._xla = torch_xla
        self._model = torch_xla.core.xla_model
        self._metrics = torch_xla.debug.metrics
        self._counted = Metrics.read(self._metrics)

    def is_in_use(self) -> bool:
        return bool(self._xla._XLAC._xla_runtime_is_initialized())

    def describe(self) -> Description:
        try:
            kind = str(self._model.xla_device_hw(self.handle))
            count = len(self._model.get_xla_supported_devices())
        except (RuntimeError, OSError) as error:
            text = (str(error).strip().splitlines() or ["no reason given"])[0]
            raise DeviceUnavailableError(
                f"torch_xla cannot open its device: {text}; check that the device and its driver work"
            ) from error
        on_host = kind == "CPU"
        return Description(
            version=version(),
            device_class=_XLA_CLASSES.get(kind, DeviceClass.other),
            device_count=count,
            hardware=cpu_model() if on_host else str(self._model.xla_device_kind(self.handle)),
            threads=torch.get_num_threads(),
            libraries=libraries("torch", "torch_xla", "libtpu", "numpy"),
            notes=("XLA on the host CPU, not a TPU",) if on_host else (),
        )

    def wait(self, tree: Any) -> None:
        # sync(wait=True) waits only until the work is launched: a product of 2000 x 2000 matrices seemed to take 0.4
        # ms, and its copy to the host 100 ms. Only wait_device_ops waits until the arrays are computed.
        self._xla.sync()
        self._model.wait_device_ops()

    def failing(self, call: Callable[[], object]) -> Operation | None:
        return evidence.failing(call, self.handle, lambda: sum(Metrics.read(self._metrics).fallbacks.values()))

    def seed(self, seed: int) -> None:
        # Discard what an earlier case left pending. It would run, and could fail, within this case.
        self._xla._XLAC._clear_pending_irs(self.handle_name)
        super().seed(seed)
        self._model.set_rng_state(seed, self.handle_name)

    @contextmanager
    def counting(self, proof: Proof) -> Iterator[None]:
        if proof.within_call:
            # Work of the call that was pending may have run in the call's surroundings, so count it.
            proof.executions(Metrics.read(self._metrics).since(self._counted).executions)
        else:
            # Finish what the inputs left pending. It would run within the call and count as the call's work.
            self.wait(None)
            self._metrics.clear_all()
        before = Metrics.read(self._metrics)
        transfers = Transfers(self.on_device, lambda: operations(self._metrics))
        has_returned = False
        try:
            with watched_methods(transfers), watched_export(transfers, self._xla._XLAC, "_to_dlpack"):
                yield
            transfers.end()
            has_returned = True
        finally:
            self._counted = Metrics.read(self._metrics)
            counts = self._counted.since(before)
            proof.executions(counts.executions)
            # If the call failed, the text of its error may have read arrays. Such reads are no fallback.
            proof.judge(counts.events(transfers.record.events) if has_returned else counts.elsewhere())
            proof.counted = True


class Tpu(Xla):
    """A TPU. It uses the same code as XLA on the host, and checks that the opened device is a TPU."""

    name = "tpu"

    def describe(self) -> Description:
        description = super().describe()
        if description.device_class is not DeviceClass.tpu:
            raise DeviceUnavailableError(
                f"torch_xla opened {description.hardware} instead of a TPU; check that this machine has one, and libtpu"
            )
        return description


_XLA_CLASSES = {"CPU": DeviceClass.cpu, "TPU": DeviceClass.tpu, "CUDA": DeviceClass.gpu}


def version() -> str:
    """Return torch's version without the build suffix (``2.9.0``, not ``2.9.0+cu128``)."""
    return str(torch.__version__).partition("+")[0]


def _drop_methods(proof: Proof) -> None:
    """Remove fallbacks named after Python methods if the kernel's operation is known, because the operation's name says
    more."""
    methods = [name for name in proof.fallbacks if name.startswith("host read by Tensor.")]
    if len(methods) < len(proof.fallbacks):
        for name in methods:
            del proof.fallbacks[name]


def _leaf(tensor: torch.Tensor) -> Leaf:
    dtype = str(tensor.dtype).removeprefix("torch.")
    host = tensor.detach()
    if host.layout is not torch.strided:
        host = host.to_dense()
    if host.is_quantized:
        host = host.dequantize()
    if dtype == "complex128" and host.device.type == "xla":
        # This is the mend that ``Xla.mends`` declares: torch_xla's own copy sets the imaginary part to zero. If
        # torch_xla computed real numbers for this dtype, there are no parts, and the array is copied as it is.
        with suppress(RuntimeError):
            host = torch.complex(host.real.cpu(), host.imag.cpu())
    host = host.cpu().resolve_conj().resolve_neg()
    if dtype == "bfloat16":
        host = host.float()
    return Leaf(host.numpy(), dtype, str(tensor.device))
