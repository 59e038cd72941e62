"""The protocol of a device: the few methods that put an accelerator on the chart.

Each framework's ``devices.py`` implements ``Device`` once per device it can force. All
methods but ``describe`` run in a forked child; nothing here may touch the device before.
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
    """Filled while a case runs: where its arrays were, what executed there, and what the framework silently ran on the
    host.
    """

    devices: set[str] = field(default_factory=set)
    fallbacks: dict[str, int] = field(default_factory=dict)
    counted: bool = False
    """Whether anything looked for fallbacks and would have seen one.

    Without this mark, the absence of fallbacks proves nothing: the placement of the case is unknown, wherever its
    arrays are.
    """
    executed: int | None = None
    """The number of executions on the device: compiled programs, kernels, or operations that reached the device's own
    kernels. ``None``: nothing counted them, which is not the same as zero.
    """
    returned: int = 0
    """The number of values on the host that the watched call returned. They went there because its caller wanted them,
    so they are no fallback. Set before ``counting`` and ``tracing`` end.
    """
    goes_on: bool = False
    """Whether the device continues to work after the watched call, as for a constructor, whose object is called later.
    """
    doubts: set[Unproven] = field(default_factory=set)
    """The reasons why the watch did not see the whole call."""

    within_call: bool = False
    """Whether a watch ends, or begins, at a pause within the call.

    Then nothing may be waited for, and no counter cleared: a framework that computes later would compile other programs
    than in its user's code.
    """

    def judge(self, events: Iterable[Event]) -> None:
        """Note the fallbacks among the events of a call."""
        for operation, count in fallbacks(events, returned=self.returned, goes_on=self.goes_on).items():
            self.fell_back(operation, count)

    def fell_back(self, operation: str, count: int = 1) -> None:
        """Note that the framework silently ran an operation on the host, or moved values there and back."""
        self.fallbacks[operation] = self.fallbacks.get(operation, 0) + count

    def executions(self, count: int) -> None:
        """Add to the executions on the device; zero means that they were counted."""
        self.executed = (self.executed or 0) + count


@dataclass(frozen=True)
class Operation:
    """The operation at which a call failed, and the kernels that the device has for it."""

    name: str
    """The framework's name for it."""
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
    """A device of a framework, forced."""

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
        """Move every NumPy array of a tree to the device; floating and complex arrays become ``dtype``."""

    def to_host(self, tree: Any) -> Any:
        """Host copy of a result: every array becomes a ``checks.Leaf``, everything else stays."""

    def wait(self, tree: Any) -> None:
        """Return when every array in the tree is computed. Copies nothing to the host."""

    def seed(self, seed: int) -> None:
        """Seed the device's and the framework's generators."""

    def on_device(self, device: str) -> bool:
        """Whether an array on ``device`` (as ``Leaf.device`` spells it) is on this target's device."""

    def counting(self, proof: Proof) -> AbstractContextManager[None]:
        """Watch a timed call without slowing it: hidden fallbacks (counters kept by the framework).

        Sets ``proof.counted`` if such counters were read. A device that has none leaves it alone. Calls
        ``proof.executions`` if the framework counts those; else ``tracing`` does.
        """

    def tracing(self, proof: Proof) -> AbstractContextManager[None]:
        """Watch an untimed call closely: the device of every operation's arrays.

        Sets ``proof.counted`` after a call without an error if this alone would have shown a fallback.
        """

    def compiled(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """The call as this device requires it: compiled as a whole if the target is a compiler's, else unchanged."""

    def lookup(self, name: str) -> Any:
        """The function of a public dotted name. Raises ``LookupError`` if this version has none."""


@dataclass
class Lowerings:
    """Filled while a case runs on the host and its programs are lowered for another platform."""

    programs: int = 0
    """The number of programs that were lowered or failed to lower."""
    missing: dict[str, MissingLowering] = field(default_factory=dict)
    """By name, the first operation without a lowering in each program."""
    untold: list[str] = field(default_factory=list)
    """Why it is unknown whether a program has a lowering (for example, its lowering asks the device itself)."""


@dataclass(frozen=True)
class MissingLowering:
    """An operation without a lowering, with the framework's own error."""

    operation: Operation
    error: Exception


class Lowering(Protocol):
    """The methods of a device whose programs are lowered for a platform and not run there (``LOWERED``)."""

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
    """The methods of a device that add evidence to a failure. A device without them only has less evidence."""

    def host(self) -> Device | None:
        """The host as a device of this process's framework; ``None`` if the process cannot reach it."""

    def graph(self) -> Device | None:
        """The host with every call in a graph, as this device demands, but without its compiler; ``None`` where
        ``compiled`` leaves calls as they are. A case that compiles a call itself, as by ``jax.jit``, does so on the
        host too: its repetition there tells the same."""

    def failing(self, call: Callable[[], object]) -> Operation | None:
        """Repeat a call that failed and name the operation at which it fails; ``None`` if none can be named."""

    def diverging(self, call: Callable[[], object], on_host: Callable[[], object]) -> Operation | None:
        """Repeat a call whose result was wrong, here or on the host, and name the first operation whose result differs
        from the host's for the same inputs; ``None`` if there is none.
        """
