"""Devices: NumPy on the host, devices that are missing or break, and a device without a watch."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

import hazards.functions
from protocol.enums import DeviceClass
from runners.suite.checks import Leaf
from runners.suite.device import Description, DeviceUnavailableError, Proof

if os.environ.get("HAZARDS_BROKEN"):
    raise ImportError("libhazards.so.1: cannot open shared object file")


class Host:
    framework = "hazards"
    name = "cpu"
    traces_anew = True
    is_host = True

    def describe(self) -> Description:
        return Description(
            version="1.0",
            device_class=DeviceClass.cpu,
            device_count=1,
            hardware="the host",
            libraries={"numpy": np.__version__},
        )

    def prime(self) -> None:
        """Do nothing, because nothing has to be opened."""

    @property
    def handle(self) -> Any:
        return "cpu"

    def dtype(self, name: str) -> Any:
        return name

    def to_device(self, tree: Any, dtype: str) -> Any:
        return tree

    def to_host(self, tree: Any) -> Any:
        return Leaf(tree, str(tree.dtype), "cpu") if isinstance(tree, np.ndarray) else tree

    def wait(self, tree: Any) -> None:
        pass

    def seed(self, seed: int) -> None:
        pass

    def on_device(self, device: str) -> bool:
        return device == "cpu"

    @contextlib.contextmanager
    def counting(self, proof: Proof) -> Iterator[None]:
        yield
        # The host is the device.
        proof.counted = True

    @contextlib.contextmanager
    def tracing(self, proof: Proof) -> Iterator[None]:
        yield

    def scope(self, dtype: str) -> AbstractContextManager[None]:
        return nullcontext()

    def compiled(self, call: Callable[[], Any]) -> Callable[[], Any]:
        return call

    def host(self) -> None:
        """Return the device itself, because it is the host."""

    def failing(self, call: Callable[[], object]) -> None:
        call()

    def lookup(self, name: str) -> Any:
        try:
            return getattr(hazards.functions, name.removeprefix("hazards."))
        except AttributeError as error:
            raise LookupError(name) from error


class Absent(Host):
    name = "absent"

    def describe(self) -> Description:
        raise DeviceUnavailableError("no hazard was found on the bus")


class Unprimable(Host):
    name = "unprimable"

    def prime(self) -> None:
        raise RuntimeError("the device is in use")


class Dying(Host):
    name = "dying"

    def prime(self) -> None:
        os._exit(5)


class Unwatched(Host):
    name = "unwatched"
    is_host = False

    @contextlib.contextmanager
    def counting(self, proof: Proof) -> Iterator[None]:
        yield
