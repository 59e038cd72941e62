"""The enumerations of the contract: verdicts, causes, placements, endings, timing policies.

A value that both sides or the database must spell alike belongs here. The processes that hold a framework
import this module too, so it needs nothing but the standard library of Python 3.9.
"""

import sys
from typing import Literal

if sys.version_info >= (3, 11):
    from enum import StrEnum
else:
    from enum import Enum

    class StrEnum(str, Enum):
        """The standard library has it from Python 3.11 on."""

        __str__ = str.__str__
        __format__ = str.__format__


DEFAULT_SUITE = "paper"
"""The suite that is run where none is named, on both sides."""
UNTIMED_SUITES = frozenset({"docs", "library", "library_quick", "pairs"})
"""Suites of many small calls, which show what runs and is right: they are not timed where no policy is named."""
CONFORMANCE_SUITE = "conformance"
"""The name that our runners give to what ``portolan runner check`` needs; its cases bear a ``ConformanceTag``."""

HOST = "cpu"
"""The device word of a target that is the host itself: what runs on the host there has nowhere to fall back from."""
LOWERED = "-lowered"
"""The end of the device word of a target for whose device programs are lowered, on the host, and not run: of such a
target no case passes or fails, and nothing is timed."""
REFUSES = "refuses"
"""The tag of a case that expects a refusal: that it passes is no evidence of a port."""
JUDGED_BY = "judged-by-"
"""The beginning of the tag that says which reference a case's expected values are of: a ``Judge``."""
FORM_ONLY = "form-only"
"""The tag of a case of which structure, shapes and dtypes alone are compared."""
GRADIENT = "gradient"
"""The tag of a case that runs a function forward and backward, beside those that only call it."""
WRONG_ON_HOST = "wrong-on-the-host"
"""The tag of a case whose expected values the host's CPU does not give: a defect there, too."""
REAL = "real"
"""The tag of a case in float32 or float64, among those whose tags say their class of dtype."""


def is_lowered(device: str) -> bool:
    """Whether programs are only lowered for this device word, and not run."""
    return device.endswith(LOWERED)


class Verdict(StrEnum):
    """The verdict of an outcome on its case."""

    passed = "passed"
    failed = "failed"
    skipped = "skipped"
    incomplete = "incomplete"


class Ending(StrEnum):
    """The ending of an attempt, as seen by the runner: an observation, not yet a cause."""

    returned = "returned"
    """The case ran and its values were right."""
    raised = "raised"
    """The function raised."""
    mismatched = "mismatched"
    """The function returned, and a value, shape or dtype was wrong."""
    accepted = "accepted"
    """The function returned, where the case expects it to refuse the call."""
    timed_out = "timed_out"
    out_of_memory = "out_of_memory"
    """Killed because its processes passed the runner's memory limit."""
    exited = "exited"
    """The process ended by itself before the case reported."""
    signalled = "signalled"
    """The process died of a signal that the runner did not send."""
    removed = "removed"
    """This version of the framework no longer has the function."""
    not_applicable = "not_applicable"
    """The case declares that it has nothing to test here."""
    lowered = "lowered"
    """All that the case computes was lowered for the target's platform, and nothing ran there."""
    not_lowered = "not_lowered"
    """Something that the case computes has no lowering for the target's platform."""
    harness_failed = "harness_failed"
    """Portolan's own code, or the environment, failed before the function was reached."""
    cancelled = "cancelled"


class Cause(StrEnum):
    """Why a case did not pass. The first five are the study's own."""

    type = "type"
    not_implemented = "not_implemented"
    timeout = "timeout"
    memory = "memory"
    precision = "precision"
    assertion = "assertion"
    silently_accepted = "silently_accepted"
    """It returned where the host refuses the call: neither a pass nor a wrong value, so it is counted apart."""
    placement = "placement"
    host_work = "host_work"
    """Data sets, strings, tables, files and prints: work of the host, which no accelerator or compiler is made for."""
    compile = "compile"
    crash = "crash"
    unknown = "unknown"
    removed = "removed"
    not_applicable = "not_applicable"
    not_this_device = "not_this_device"
    """The same failure on the host: the framework's own, whatever the device."""
    lowered = "lowered"
    """Lowered for the device and not run there: no reason not to port is known, and no value."""
    not_lowered = "not_lowered"
    """It has no lowering for the device, which was found without one."""
    environment = "environment"
    infrastructure = "infrastructure"
    cancelled = "cancelled"


class Placement(StrEnum):
    """The place where the work of a case really ran."""

    on_device = "on_device"
    fell_back = "fell_back"
    host_only = "host_only"
    unknown = "unknown"


class Unproven(StrEnum):
    """The reason for which the placement of a case is unknown; each with its ``sentence``."""

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

    @property
    def sentence(self) -> str:
        return _UNPROVEN[self]


_UNPROVEN = {
    Unproven.refuses: "the case expects a refusal, which needs no device",
    Unproven.no_array: "no array was seen: none went in or came out, or the call did not come so far",
    Unproven.array_elsewhere: "an array of the call was on another device, though no operation was seen there",
    Unproven.nothing_executed: "executions on the device were counted, and there was none",
    Unproven.executions_not_counted: "nothing counts executions on this device",
    Unproven.nobody_looked: "nothing looked for fallbacks: it has no counters, and its operations were not followed",
    Unproven.watched_call_failed: "the call passed, and failed when it was made once more to be watched closely",
    Unproven.no_time: "the first call left too little of the case's time to make another that is watched closely",
    Unproven.one_kernel: "it has one kernel for every operation that it lacks, and nobody sees where that works",
    Unproven.tensor_subclass: "its arrays are of a class that decides in Python what becomes of an operation, and "
    "does not say what it executed",
    Unproven.number_in_kernel: "a kernel read a single number on the host: to decide something, or to compute there",
}


class Kernels(StrEnum):
    """The kernels or lowerings that a device has of the operation at which a case failed."""

    none = "none"
    """None, of whatever dtype."""
    other_dtypes = "other_dtypes"
    """For other dtypes than those in flight."""
    this_dtype = "this_dtype"
    """For these dtypes, too: what it lacks is something else."""


class Repetition(StrEnum):
    """The end of the same call elsewhere, or in another dtype, after it had failed here."""

    passed = "passed"
    failed_alike = "failed_alike"
    """It failed with the same exception or the same wrong values."""
    failed_otherwise = "failed_otherwise"


class TimingPolicy(StrEnum):
    """The policy by which a case is timed."""

    off = "off"
    quick = "quick"
    """As steady, under a tenth of its time budget: a level for thousands of cases, and a wider spread."""
    steady = "steady"
    """Cold call, warm-up, then an adaptive number of samples under a time budget."""
    paper = "paper"
    """The study's rule: one call, one case per process; the mean is taken over runs."""

    @property
    def takes_samples(self) -> bool:
        """Whether calls after the first are timed too."""
        return self in (TimingPolicy.quick, TimingPolicy.steady)


def default_timing(suite: str) -> TimingPolicy:
    """The policy by which a suite is timed where none is named."""
    return TimingPolicy.off if suite in UNTIMED_SUITES else TimingPolicy.steady


class TimedCases(StrEnum):
    """The cases of a function that a timed run times; the others run for their verdict alone."""

    all = "all"
    representative = "representative"
    """One a function: ``protocol.catalogue.representatives``."""


def default_timed_cases(suite: str) -> TimedCases:
    """The cases of a suite that are timed where nothing else is said."""
    return TimedCases.representative if suite in UNTIMED_SUITES else TimedCases.all


class Judge(StrEnum):
    """The reference from which a case's expected values come, the most independent first."""

    numpy = "numpy"
    """NumPy or SciPy, in float64."""
    decomposition = "decomposition"
    """The library's own reference, written in other operations."""
    reference = "reference"
    """The one that the function's own tests bring, which may call the same kernels in float64: not independent."""
    differences = "differences"
    """Of a gradient: central differences of the forward pass on the CPU in float64, so not independent of that pass."""
    float64 = "float64"
    """The same function on the CPU in float64: not independent."""
    itself = "itself"
    """The same function on the CPU: not independent."""
    form = "form"
    """None: only the form of the result is compared."""

    @property
    def is_independent(self) -> bool:
        return self in (Judge.numpy, Judge.decomposition)


CaseKind = Literal["value", "statistics", "behaviour"]
"""The part of a case's result that is judged: every value, against a reference; random numbers, by their statistics; or
something else that the function promises, such as identity, state, the form of the result or an error."""


class InputKind(StrEnum):
    """The kind of a case's inputs, as its tags say it; a case may have several, and a plain one has no other."""

    plain = "plain"
    empty = "empty"
    zero_dim = "0-dim"
    broadcast = "broadcast"
    strided = "strided"
    no_array = "no-array"


class ConformanceTag(StrEnum):
    """Marks the cases of which it is known beforehand what they do, so that a runner can be held to its contract."""

    passes = "conformance:passes"
    slow = "conformance:slow"
    """Takes 2 to 6 seconds, and passes."""
    hangs = "conformance:hangs"
    prints = "conformance:prints"
    """Prints more than 1 MiB, then the line ``conformance: the end``, and passes."""


class DeviceClass(StrEnum):
    cpu = "cpu"
    gpu = "gpu"
    tpu = "tpu"
    other = "other"
