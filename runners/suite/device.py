"""The protocol of a device: the few methods that put an accelerator on the chart.

Each framework's ``devices.py`` implements ``Device`` once per device it can force. All
methods but ``describe`` run in a forked child; nothing here may touch the device before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol

from protocol.enums import DeviceClass as DeviceClass
from runners.errors import FrameworkError


@dataclass(frozen=True)
class Description:
    """The description of a device, made in a throwaway child."""

    version: str
    """The framework's version, as its package gives it."""
    device_class: DeviceClass
    device_count: int
    hardware: str
    driver: str | None = None
    threads: int | None = None
    libraries: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    simulated: bool = False


@dataclass
class Proof:
    """Filled while a case runs: where its arrays were, and what ran on the host unasked."""

    devices: set[str] = field(default_factory=set)
    fallbacks: dict[str, int] = field(default_factory=dict)
    counted: bool = False
    """Whether anything looked for fallbacks and would have seen one. An absence of evidence is none:
    without this mark a case is nowhere known to have run, however its arrays look."""


class DeviceUnavailableError(FrameworkError):
    """This machine cannot serve the device; the message is one line that says why."""


class Device(Protocol):
    """A device of a framework, forced."""

    framework: str
    name: str

    def describe(self) -> Description:
        """Look at the device. Raises ``DeviceUnavailableError`` if it is not there."""

    def prime(self) -> None:
        """Initialise the device with one fixed operation and wait for it."""

    @property
    def handle(self) -> Any:
        """The framework's own device object."""

    def dtype(self, name: str) -> Any:
        """The framework's own dtype object for ``float32``, ``bfloat16``, …"""

    def scope(self, dtype: str) -> AbstractContextManager[Any]:
        """The settings for as long as a case of that dtype runs: entered before its inputs are made."""

    def to_device(self, tree: Any, dtype: str) -> Any:
        """Move every NumPy array of a tree to the device; floating and complex ones become ``dtype``."""

    def to_host(self, tree: Any) -> Any:
        """Host copy of a result: every array becomes a ``checks.Leaf``, everything else stays."""

    def wait(self, tree: Any) -> None:
        """Return only when every array in the tree is really computed. Copies nothing to the host."""

    def seed(self, seed: int) -> None:
        """Seed the device's and the framework's generators."""

    def on_device(self, device: str) -> bool:
        """Whether an array on ``device`` (as ``Leaf.device`` spells it) is on this target's device."""

    def counting(self, proof: Proof) -> AbstractContextManager[None]:
        """Watch a timed call without slowing it: hidden fallbacks (counters kept by the framework).

        Sets ``proof.counted`` if such counters were read. A device that has none leaves it alone.
        """

    def tracing(self, proof: Proof) -> AbstractContextManager[None]:
        """Watch an untimed call closely: the device of every operation's arrays.

        Sets ``proof.counted`` after a call without an error if this alone would have shown a fallback.
        """

    def compiled(self, call: Callable[[], Any]) -> Callable[[], Any]:
        """The call as this device demands it: compiled as a whole where the target is a compiler's, else as it is."""

    def lookup(self, name: str) -> Any:
        """The function of a public dotted name. Raises ``LookupError`` if this version has none."""
