"""The protocol ``Device``: the methods that a package must implement to support an accelerator.

Each framework's ``devices.py`` implements ``Device`` for each of its devices. The methods run in a forked child.
Importing the module and creating the object must not touch the device.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol

from protocol.enums import DeviceClass as DeviceClass
from protocol.enums import Kernels as Kernels
from protocol.enums import Unproven as Unproven
from runners.errors import FrameworkError
from runners.suite.host_work import Event, fallbacks


@dataclass(frozen=True)
class Description:
    """The description of a device, made in a throwaway child."""

    version: str
    """The framework's version, as its package states it."""
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
    """The evidence of where a case ran, collected while it runs: its arrays' devices, executions, and fallbacks."""

    devices: set[str] = field(default_factory=set)
    fallbacks: dict[str, int] = field(default_factory=dict)
    counted: bool = False
    """Whether a watch would have seen a fallback.

    If false, the absence of fallbacks proves nothing: the placement of the case is unknown, wherever its arrays are.
    """
    executed: int | None = None
    """The number of executions on the device: compiled programs, kernels, or operations that reached the device's own
    kernels. ``None``: nothing counted them, which is not the same as zero.
    """
    returned: int = 0
    """The number of values on the host in the result of the watched call. The caller asked for them, so reading them is
    not a fallback. Set before ``counting`` and ``tracing`` end.
    """
    goes_on: bool = False
    """Whether the device continues to work after the watched call. True for a constructor: its object is called later.
    """
    doubts: set[Unproven] = field(default_factory=set)
    """The reasons why the watch did not see the whole call."""

    within_call: bool = False
    """Whether a watch ends or begins at a pause within the call.

    Then the watch must not wait for the device or clear a counter: a lazy framework would compile other programs than
    in a user's code.
    """

    def judge(self, events: Iterable[Event]) -> None:
        """Record the fallbacks among the events of a call."""
        for operation, count in fallbacks(events, returned=self.returned, goes_on=self.goes_on).items():
            self.fell_back(operation, count)

    def fell_back(self, operation: str, count: int = 1) -> None:
        """Record that the framework silently ran an operation on the host, or moved values there and back."""
        self.fallbacks[operation] = self.fallbacks.get(operation, 0) + count

    def executions(self, count: int) -> None:
        """Add to the number of executions on the device. A count of zero still says that somebody counted."""
        self.executed = (self.executed or 0) + count


@dataclass(frozen=True)
class Operation:
    """The operation at which a call failed, and the kernels that the device has for it."""

    name: str
    """The framework's name for the operation."""
    dtypes: tuple[str, ...] = ()
    kernels: Kernels | None = None
    kernel_dtypes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Mend:
    """A fault of a framework that its device module works around where it moves arrays.

    Without the workaround, the fault would show in every case that moves arrays. With it, the fault shows in one case,
    which moves arrays as a user does. Every workaround has such a case.
    """

    fault: str
    shown_by: str
    """The id of the case."""


class DeviceUnavailableError(FrameworkError):
    """This machine cannot serve the device; the message is one line that says why."""


class Device(Protocol):
    """A device of a framework, on which every call of a case must run."""

    framework: str
    name: str
    is_host: bool
    """Whether the target is the host itself (``cpu``). Then nothing is a fallback, and execution there needs no proof.
    """

    traces_anew: bool
    """Whether ``tracing`` watches a call that is prepared again from fresh inputs.

    If not, it watches the call that was timed, because the framework shows a compiled call's operations at every call,
    and compiling again would show no more.
    """

    mends: tuple[Mend, ...]
    """The faults that ``to_device`` and ``to_host`` work around."""

    def describe(self) -> Description:
        """Describe the device. Raises ``DeviceUnavailableError`` if this machine does not have it."""

    def prime(self) -> None:
        """Initialize the device with one fixed operation and wait for it."""

    @property
    def handle(self) -> Any:
        """The framework's own device object."""

    def dtype(self, name: str) -> Any:
        """The framework's own dtype object for ``float32``, ``bfloat16``, …"""

    def scope(self, dtype: str) -> AbstractContextManager[Any]:
        """Apply the settings for a case of this dtype during the block, in which its inputs are made and it runs."""

    def to_device(self, tree: Any, dtype: str) -> Any:
        """Move every NumPy array of a tree to the device; floating and complex arrays become ``dtype``."""

    def to_host(self, tree: Any) -> Any:
        """Copy a result to the host: every array becomes a ``checks.Leaf``, everything else stays."""

    def wait(self, tree: Any) -> None:
        """Wait until every array in the tree is computed. Copies nothing to the host."""

    def seed(self, seed: int) -> None:
        """Seed the device's and the framework's generators."""

    def on_device(self, device: str) -> bool:
        """Whether an array on ``device`` (as ``Leaf.device`` spells it) is on this target's device."""

    def counting(self, proof: Proof) -> AbstractContextManager[None]:
        """Watch a timed call for hidden fallbacks without slowing it, by counters that the framework keeps.

        Sets ``proof.counted`` if there are such counters. Calls ``proof.executions`` if the framework counts
        executions; otherwise ``tracing`` does.
        """

    def tracing(self, proof: Proof) -> AbstractContextManager[None]:
        """Watch an untimed call closely: the device of the arrays of every operation.

        Sets ``proof.counted`` after a call without an error, if the tracing alone would have shown a fallback.
        """

    def compiled(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap a call as this device requires: compiled as a whole if the target is a compiler, otherwise unchanged."""

    def lookup(self, name: str) -> Any:
        """Return the function of a public dotted name. Raises ``LookupError`` if this version has none."""


@dataclass
class Lowerings:
    """Collects the results of lowering a case's programs for another platform. The case itself runs on the host."""

    programs: int = 0
    """The number of programs that were lowered or failed to lower."""
    missing: dict[str, MissingLowering] = field(default_factory=dict)
    """The first operation without a lowering in each program, by its name."""
    untold: list[str] = field(default_factory=list)
    """Why it is unknown whether a program has a lowering (for example, its lowering asks the device itself)."""


@dataclass(frozen=True)
class MissingLowering:
    """An operation without a lowering, with the framework's own error."""

    operation: Operation
    error: Exception


class Lowering(Protocol):
    """The method of a device whose programs are only lowered for a platform, and not run on it (``LOWERED``)."""

    def lowering(self) -> AbstractContextManager[Lowerings]:
        """Lower every program that the host runs during the block for the device's platform, too."""


class Sharing(Protocol):
    """The method of a host device that can leave cores to cases that run at the same time. Optional."""

    def share_cores(self, threads: int) -> None:
        """Limit the computing threads of this process; called before ``prime``."""


class Untouched(Protocol):
    """The method of a device that can tell whether this process already uses it, so that no process can be forked from
    it.

    Without this method, such a use is noticed only when children hang.
    """

    def is_in_use(self) -> bool:
        """Whether the framework has opened the device in this process. Does not open it."""


class Explaining(Protocol):
    """The methods of a device that add evidence to a failure. Optional: without them, there is only less evidence."""

    def host(self) -> Device | None:
        """Return the host as a device of this process's framework; ``None`` if the process cannot use the host."""

    def graph(self) -> Device | None:
        """Return the host as a device that runs every call in a graph, as this device does, but without its compiler.

        ``None`` if ``compiled`` leaves calls unchanged. A case that compiles its call itself (for example with
        ``jax.jit``) also does so on the host, so that a repetition on the host shows the same.
        """

    def failing(self, call: Callable[[], object]) -> Operation | None:
        """Repeat a call that failed and name the operation at which it fails; ``None`` if none can be named."""

    def diverging(self, call: Callable[[], object], on_host: Callable[[], object]) -> Operation | None:
        """Repeat a call whose result was wrong and name the first operation whose result differs from the host's.

        ``call`` runs on this device and ``on_host`` on the host. Both operations get the same inputs. ``None`` if no
        result differs.
        """
