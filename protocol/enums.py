"""The enumerations of the contract: verdicts, causes, placements, endings, timing policies.

Values that both sides, or the database, must spell identically belong here, together with their meaning. Processes
with a framework also import this module, so it needs only the standard library of Python 3.9.
"""

from __future__ import annotations

import sys
from typing import Literal

if sys.version_info >= (3, 11):
    from enum import StrEnum
else:
    from enum import Enum

    class StrEnum(str, Enum):
        """``enum.StrEnum`` for versions of Python before 3.11."""

        __str__ = str.__str__
        __format__ = str.__format__


DEFAULT_SUITE = "paper"
"""The default suite of coordinator and runner."""
CONFORMANCE_SUITE = "conformance"
"""The suite that ``portolan runner check`` needs. Its cases have a ``ConformanceTag``."""

HOST = "cpu"
"""The device of a target that is the host itself. On this device, no operation can fall back to the host."""
LOWERED = "-lowered"
"""Devices with this suffix are for targets whose programs are only lowered, on the host, and not run. No case of such a
target passes or fails, and nothing is timed."""
REFUSES = "refuses"
"""The tag of a case that expects the function to raise an error. A pass of such a case says nothing about the
device."""
DOCUMENTED_PER_DEVICE = "documented-per-device"
"""The tag of a case that expects an error that the function's documentation requires only on the CPU. Another device
may accept the call; the case is then not applicable."""
JUDGED_BY = "judged-by-"
"""The prefix of the tag that names the source of a case's expected values, a ``Judge``."""
FORM_ONLY = "form-only"
"""The tag of a case that compares only structure, shapes and dtypes."""
GRADIENT = "gradient"
"""The tag of a case that runs a function forward and backward."""
NON_FINITE = "non-finite"
"""The tag of a case in which some numbers of the inputs are NaN or infinite."""
TRAINING, BUFFERS = "train", "buffers"
"""The tags of a case that calls a module in training, and of one that also compares the module's buffers after the
call."""
WITH_RECORDED_VALUES = "with-recorded-values"
"""The tag of a recorded call that is replayed with the values that the program passed. None of these values is
random."""
RECOMPILED = "recompiled"
"""The tag of a case that calls a function with a second shape, in a process that has just called it with another
shape."""


class FirstUse(StrEnum):
    """How the process of a case first uses the device. The value is a tag of the case, which gets a process of its own.

    In processes of other cases, the runner uses the device before the first case begins.
    """

    host_first = "host-first"
    """The call of the case runs on the host before the device is used."""
    thread_first = "thread-first"
    """Another thread than that of the case uses the device first."""
    unprimed = "unprimed"
    """Nothing uses the device before the inputs of the case are moved there."""


FIRST_USES = frozenset(map(str, FirstUse))
WRONG_ON_HOST = "wrong-on-the-host"
"""The tag of a case that fails on the host's CPU because of a defect of the framework there."""
REAL = "real"
"""The tag of a case in float32 or float64, in suites that tag cases with their class of dtype."""


def is_lowered(device: str) -> bool:
    """Whether programs for this device are only lowered and not run."""
    return device.endswith(LOWERED)


class Verdict(StrEnum):
    """The verdict on an outcome."""

    passed = "passed"
    """The case ran, and every value was right."""
    failed = "failed"
    """The case raised an error, returned a wrong result, took too long, used too much memory, or crashed."""
    skipped = "skipped"
    """This version of the framework does not have the function, or the case has nothing to test on this target."""
    incomplete = "incomplete"
    """The environment or the infrastructure failed, or the job was cancelled. The outcome says nothing about the
    device."""


class Ending(StrEnum):
    """How an attempt ended, as the runner observed it. The cause is decided later."""

    returned = "returned"
    """The case ran, and all values are right."""
    raised = "raised"
    """The function raised an error."""
    mismatched = "mismatched"
    """The function returned, and a value, shape or dtype was wrong."""
    accepted = "accepted"
    """The call returned a result, but the case expects an error."""
    timed_out = "timed_out"
    """The case was killed at its deadline."""
    out_of_memory = "out_of_memory"
    """The case's processes exceeded the runner's memory limit, or the kernel killed a process for lack of memory."""
    exited = "exited"
    """The process exited before the case reported."""
    signalled = "signalled"
    """The process died of a signal that the runner did not send."""
    removed = "removed"
    """This version of the framework does not have the function."""
    not_applicable = "not_applicable"
    """The case declares that it has nothing to test on this target."""
    lowered = "lowered"
    """All programs of the case were lowered for the target's platform; nothing ran on the device."""
    not_lowered = "not_lowered"
    """An operation of the case has no lowering for the target's platform; nothing ran on the device."""
    harness_failed = "harness_failed"
    """An error of Portolan's code or of the environment occurred before the function was called."""
    cancelled = "cancelled"
    """A client stopped the job."""


class Cause(StrEnum):
    """The reason why a case did not pass. The first five causes are the study's own."""

    type = "type"
    """The dtype is not supported, or the result has a wrong dtype."""
    not_implemented = "not_implemented"
    """The device has no kernel, derivative or feature for the function, for any dtype."""
    timeout = "timeout"
    """The case exceeded its deadline, or the framework or device timed out."""
    memory = "memory"
    """Host or device ran out of memory."""
    precision = "precision"
    """Wrong values that differ from the right values only by rounding."""
    assertion = "assertion"
    """Another wrong value, shape or structure, a failed assertion of the framework, or another violated property."""
    silently_accepted = "silently_accepted"
    """The call returned a result on the device, but raises an error on the host. Such a case is neither a pass nor a
    wrong value, so counts list it separately."""
    placement = "placement"
    """The function needs host memory, mixes devices, or ran on the host instead of the device."""
    host_work = "host_work"
    """The function works with data sets, strings, tables, files, prints or Python code, which devices and compilers do
    not support by design."""
    compile = "compile"
    """The framework's compiler rejected the function or failed."""
    crash = "crash"
    """The process or a kernel on the device crashed, or the process ended without a report."""
    unknown = "unknown"
    """The case failed, and no rule matches."""
    removed = "removed"
    """This version of the framework does not have the function."""
    not_applicable = "not_applicable"
    """There is nothing to test on this target."""
    not_this_device = "not_this_device"
    """The case fails in the same way on the host, so the device is not the reason."""
    lowered = "lowered"
    """All programs were lowered for the device and not run; no problem was found, and no value was checked."""
    not_lowered = "not_lowered"
    """An operation has no lowering for the device. No device is needed to find this."""
    environment = "environment"
    """A package or driver is missing, or Portolan's harness failed."""
    infrastructure = "infrastructure"
    """The runner was lost, or its report is invalid (rule ``unstorable``)."""
    cancelled = "cancelled"
    """A client stopped the job."""


class Placement(StrEnum):
    """Where a case was executed."""

    on_device = "on_device"
    """Something was executed on the device, all observed arrays stayed on the device, and no fallback was detected."""
    fell_back = "fell_back"
    """Something ran on the host, although the host is not the target's device."""
    host_only = "host_only"
    """The runner's catalogue declares that the function touches no device."""
    unknown = "unknown"
    """There is no proof of where the case ran. If the case passed, on-device counts exclude the case."""


class Unproven(StrEnum):
    """The reason why the placement of a case is unknown. ``sentence`` explains the reason."""

    refuses = "refuses"
    no_array = "no_array"
    array_elsewhere = "array_elsewhere"
    nothing_executed = "nothing_executed"
    executions_not_counted = "executions_not_counted"
    nobody_looked = "nobody_looked"
    watched_call_failed = "watched_call_failed"
    no_time = "no_time"
    one_kernel = "one_kernel"
    tensor_subclass = "tensor_subclass"
    number_in_kernel = "number_in_kernel"
    result_on_host = "result_on_host"

    @property
    def sentence(self) -> str:
        return _UNPROVEN[self]


_UNPROVEN = {
    Unproven.refuses: "the case expects an error, which Python can raise without the device",
    Unproven.no_array: "no array was observed: inputs and results have no array, or the call ended too early",
    Unproven.array_elsewhere: "an array of the call was on another device, although no operation was observed on "
    "that device",
    Unproven.nothing_executed: "executions on the device were counted, and their number is zero",
    Unproven.executions_not_counted: "nothing counts executions on this device",
    Unproven.nobody_looked: "a fallback could not be detected: the device has no counters, and its operations were "
    "not followed",
    Unproven.watched_call_failed: "the call passed, but failed when it was repeated under close monitoring",
    Unproven.no_time: "the first call left too little of the case's time to repeat it under close monitoring",
    Unproven.one_kernel: "one kernel handles all operations that the device does not implement, and nothing shows "
    "whether this kernel computes on the device or on the host",
    Unproven.tensor_subclass: "the arrays are a tensor subclass that handles operations in Python and does not "
    "report what it executed",
    Unproven.number_in_kernel: "a kernel read a single number on the host, and nothing shows whether it used the "
    "number only for a decision or to compute the result on the host",
    Unproven.result_on_host: "the function returns a NumPy array, a text or a list of numbers on every device, and the "
    "host read arrays to make it",
}


def is_work_of_host(placement: Placement, unproven: Unproven | None) -> bool:
    """Whether the host did the work, as far as the runner saw. The call's time then says nothing about the device."""
    return placement is Placement.fell_back or unproven is Unproven.nothing_executed


class Kernels(StrEnum):
    """Whether a device has kernels or lowerings for the operation at which a case failed, and for which dtypes."""

    none = "none"
    """The device has no kernel or lowering of the operation."""
    other_dtypes = "other_dtypes"
    """The device has kernels or lowerings, but not for the dtypes of the failed call."""
    this_dtype = "this_dtype"
    """The device has a kernel or lowering for the dtypes of the failed call, so the failure has another reason."""


class Repetition(StrEnum):
    """The result when a failed call was repeated on another device or in another dtype."""

    passed = "passed"
    """The repetition passed."""
    failed_alike = "failed_alike"
    """The same exception and text (device names may differ), or the same wrong values."""
    failed_otherwise = "failed_otherwise"
    """Another failure."""


class TimingPolicy(StrEnum):
    """The policy by which a case is timed."""

    off = "off"
    """Nothing is timed. It is the fastest policy, because cases do not wait for the timing lock."""
    quick = "quick"
    """As ``steady``, but with only 0.02 s of warm-up and 0.02 s of samples. It is fast enough for thousands of cases,
    but its times vary more."""
    steady = "steady"
    """The first call, then warm-up calls, then samples of later calls within a time budget."""
    paper = "paper"
    """One call, with one case per process, as in the study. To compare with the study, compute the mean of ``cold_ms``
    over 3 runs."""

    @property
    def takes_samples(self) -> bool:
        """Whether the policy also times calls after the first call."""
        return self in (TimingPolicy.quick, TimingPolicy.steady)


DEFAULT_TIMING = TimingPolicy.steady
"""The timing policy of a suite that declares none."""


class TimedCases(StrEnum):
    """Which cases of a function are timed in a timed run. Other cases run untimed."""

    all = "all"
    representative = "representative"
    """One case per function, chosen by ``protocol.catalogue.representatives``."""


DEFAULT_TIMED_CASES = TimedCases.all
"""The timed cases of a suite that declares none."""


class Judge(StrEnum):
    """The source of a case's expected values, from the most independent source to the least."""

    numpy = "numpy"
    """NumPy or SciPy, in float64."""
    decomposition = "decomposition"
    """The library's own reference, which is computed from other operations."""
    reference = "reference"
    """The reference in the tests of the function's library. It may call the same kernels in float64, so it is not
    independent."""
    differences = "differences"
    """For a gradient, central differences of the forward pass on the CPU in float64. They are not independent of the
    forward pass."""
    float64 = "float64"
    """The same function on the CPU in float64. It is not independent."""
    itself = "itself"
    """The same function on the CPU. It is not independent."""
    form = "form"
    """No reference. Only the form of the result is checked: its shape and dtype."""

    @property
    def is_independent(self) -> bool:
        return self in (Judge.numpy, Judge.decomposition)


CaseKind = Literal["value", "statistics", "behaviour"]
"""How a case is judged. Values are compared with a reference, random numbers by their statistics. Other cases check
another promise of the function, such as identity, state, the form of the result or an error."""


class InputKind(StrEnum):
    """The kind of a case's inputs, according to its tags. A case may have several kinds. A plain case has only
    ``plain``."""

    plain = "plain"
    empty = "empty"
    zero_dim = "0-dim"
    broadcast = "broadcast"
    strided = "strided"
    no_array = "no-array"


class ConformanceTag(StrEnum):
    """The tags of the cases with which a runner is checked against its contract. Each tag stands for a fixed
    behavior."""

    passes = "conformance:passes"
    """Passes immediately."""
    slow = "conformance:slow"
    """Takes 2 to 6 seconds, and passes."""
    hangs = "conformance:hangs"
    """Never ends by itself."""
    prints = "conformance:prints"
    """Prints more than 1 MiB, then the line ``conformance: the end``, and passes."""


class DeviceClass(StrEnum):
    cpu = "cpu"
    gpu = "gpu"
    tpu = "tpu"
    other = "other"
