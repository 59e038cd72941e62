"""Proof of placement on JAX: the programs that XLA executed, the transfers around them, and the host callbacks.

The first call of a compiled function goes through ``ExecuteReplicated``. Later calls go only through JAX's C++, which
then calls its post-hook. The two watches together see each execution exactly once, in every thread, including programs
compiled earlier. This costs a microsecond per execution, so every call that is not sampled is watched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import Any

import jax
import numpy as np
from jax._src import api, callback, compute_on, debugging
from jax._src.interpreters import pxla
from jax._src.lib import xla_client

from runners.jax.placement.host_copies import HostCopies
from runners.suite.device import Proof
from runners.suite.host_work import Brought, CallRecord, Elsewhere
from runners.suite.replacing import replacing

OnDevice = Callable[[str], bool]
"""Whether a device, or every device in a list joined by commas, belongs to the target."""

_CALLBACKS = (
    (callback, "pure_callback_impl", "pure_callback"),
    (callback, "io_callback_impl", "io_callback"),
    # The first runs an eager debug.print, the second runs callbacks of compiled code and an eager debug.callback.
    (debugging, "debug_callback_impl", "debug_callback"),
    (debugging.debug_callback_p, "impl", "debug_callback"),
)
"""The functions that run host callbacks on all backends, each with the callback's name."""
_PUTS = ("batched_device_put", "batched_copy_array_to_devices_with_sharding")
"""The functions of XLA's client that move values to a device, other than as arguments of a program."""


@contextmanager
def watch(proof: Proof, on_device: OnDevice, handle: jax.Device) -> Iterator[None]:
    """During the block, count the executions on the device, and judge executions elsewhere and all transfers."""
    record, on_device = CallRecord(), cache(on_device)
    copies = HostCopies(record)
    executions = _Executions(proof, record, on_device, copies.note_program)
    transfers = _Transfers(record, on_device, handle)
    with copies.watch(), transfers.watch(), _callbacks(record), executions.count():
        yield
        jax.effects_barrier()
    proof.judge(record.events)
    proof.counted = True


@contextmanager
def count_executions(proof: Proof) -> Iterator[None]:
    """Count executions. For a target that is the host, this is enough, because nothing can fall back to the host."""
    with _Executions(proof, CallRecord(), lambda device: True, lambda program, given, made: None).count():
        yield
        jax.effects_barrier()
    proof.counted = True


class _Executions:
    """The executions of compiled programs, by the devices on which they ran."""

    def __init__(
        self,
        proof: Proof,
        record: CallRecord,
        on_device: OnDevice,
        note_program: Callable[[str, Sequence[Any], Sequence[Any]], None],
    ) -> None:
        proof.executions(0)
        self._proof = proof
        self._record = record
        self._on_device = on_device
        self._note_program = note_program

    @contextmanager
    def count(self) -> Iterator[None]:
        execute = vars(pxla.ExecuteReplicated)["__call__"]

        def execute_and_note(program: Any, *arguments: Any) -> Any:
            outputs = execute(program, *arguments)
            self._note(program.name, program._local_devices, arguments, outputs)
            return outputs

        def note_call(function: Any, arguments: Any, options: Any, output: Any) -> None:
            inputs = jax.tree_util.tree_leaves((arguments, options))
            outputs = _arrays(output)
            arrays = outputs or _arrays(inputs)
            name = getattr(function, "__name__", "")
            self._note(name, arrays[0].sharding.device_set if arrays else (), inputs, outputs)

        with replacing(pxla.ExecuteReplicated, "__call__", execute_and_note), _post_hook(note_call):
            yield

    def _note(self, program: str, devices: Any, inputs: Any, outputs: Any) -> None:
        name = _names_of(devices)
        if name and self._on_device(name):
            for argument in inputs:
                if isinstance(argument, np.ndarray):
                    self._record.add(Brought(argument.size, str(argument.dtype)))
            self._note_program(program, inputs, _arrays(outputs))
            self._proof.executions(1)
        elif name:
            self._record.add(Elsewhere(f"execution on {name}"))


@contextmanager
def _post_hook(observe: Callable[[Any, Any, Any, Any], None]) -> Iterator[None]:
    """Make JAX call ``observe`` after each compiled call from its C++, in every thread.

    JAX's search for NaN uses the same hook. When the setting of this search changes, JAX sets the thread's hook again.
    So a hook that JAX sets meanwhile is stored, and called after ``observe``.
    """
    state = api._post_hook_state
    others = _OtherHook(state.value)

    def hook(function: Any, arguments: Any, options: Any, output: Any) -> None:
        observe(function, arguments, options, output)
        if others.hook is not None:
            others.hook(function, arguments, options, output)

    with replacing(api, "_post_hook_state", others):
        everywhere = state.get_global()
        state.set_global(hook)
        here = state.swap_local(hook)
        try:
            yield
        finally:
            state.set_local(here)
            state.set_global(everywhere)


class _OtherHook:
    """JAX's own post-hook, stored while Portolan's hook is in its place."""

    def __init__(self, hook: Callable[..., None] | None) -> None:
        self.hook = hook

    def set_local(self, hook: Callable[..., None] | None) -> None:
        self.hook = hook

    set_global = set_local


class _Transfers:
    """Arrays that are moved to other devices, or to the host's memory."""

    def __init__(self, record: CallRecord, on_device: OnDevice, handle: jax.Device) -> None:
        self._record = record
        self._on_device = on_device
        self._memory = handle.default_memory().kind

    @contextmanager
    def watch(self) -> Iterator[None]:
        with ExitStack() as stack:
            for name in _PUTS:
                stack.enter_context(replacing(xla_client, name, self._noting(getattr(xla_client, name))))
            extend = vars(compute_on)["extend_compute_type"]
            stack.enter_context(replacing(compute_on, "extend_compute_type", self._noting_host_compute(extend)))
            yield

    def _noting(self, put: Callable[..., Any]) -> Callable[..., Any]:
        def put_and_note(*arguments: Any, **options: Any) -> Any:
            parts = [
                part
                for argument in arguments
                for part in (argument if isinstance(argument, (list, tuple)) else (argument,))
            ]
            for part in parts:
                if isinstance(part, jax.sharding.Sharding):
                    self._note(part)
                elif isinstance(part, (np.ndarray, np.generic, bool, int, float, complex)):
                    values = np.asarray(part)
                    self._record.add(Brought(values.size, str(values.dtype)))
            return put(*arguments, **options)

        return put_and_note

    def _note(self, sharding: jax.sharding.Sharding) -> None:
        name = _names_of(sharding.device_set)
        if not self._on_device(name):
            self._record.add(Elsewhere(f"transfer to {name}"))
        elif sharding.memory_kind not in (None, self._memory):
            self._record.add(Elsewhere(f"transfer to {sharding.memory_kind}"))

    def _noting_host_compute(self, extend: Callable[..., Any]) -> Callable[..., Any]:
        """Record parts of a program that XLA runs on the host. These parts are visible only while the function is
        traced."""

        def extend_and_note(compute_type: str | None) -> Any:
            if compute_type == "device_host":
                self._record.add(Elsewhere("compute_on device_host"))
            return extend(compute_type)

        return extend_and_note


@contextmanager
def _callbacks(record: CallRecord) -> Iterator[None]:
    """Record every host callback that runs in the block, even if its function was compiled before the block."""

    def counting_call(name: str, implementation: Any) -> Any:
        def call(*arguments: Any, **options: Any) -> Any:
            record.add(Elsewhere(name))
            return implementation(*arguments, **options)

        return call

    with ExitStack() as stack:
        for owner, attribute, name in _CALLBACKS:
            stack.enter_context(replacing(owner, attribute, counting_call(name, getattr(owner, attribute))))
        yield


def _arrays(tree: Any) -> Sequence[Any]:
    return [leaf for leaf in jax.tree_util.tree_leaves(tree) if isinstance(leaf, jax.Array)]


def _names_of(devices: Any) -> str:
    return ",".join(sorted(map(str, devices)))
