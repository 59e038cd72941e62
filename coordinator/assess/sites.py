"""Sites: the uses of framework functions in a user's source. This module does no I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

from coordinator.results.conditions import CallSite

HOST_READS = frozenset(
    {
        "jax.Array.item",
        "jax.device_get",
        "torch.Tensor.cpu",
        "torch.Tensor.item",
        "torch.Tensor.numpy",
        "torch.Tensor.tolist",
    }
)
"""Functions that move values from the device to Python."""


class Certainty(StrEnum):
    """How the function's name at a site was determined."""

    resolved = "resolved"
    """The name was resolved through the file's imports."""
    typed = "typed"
    """The function is a method or operator of a value whose class the code shows."""
    recorded = "recorded"
    """A recorder saw the call."""
    guessed = "guessed"
    """The function was guessed from the method's name alone."""


class Use(StrEnum):
    """How a site uses the function."""

    called = "called"
    operator = "operator"
    """An operator or an index: ``a @ b``, ``x[mask]``, ``x[mask] = v``."""
    named = "named"
    """The function is passed on as a value: ``norm_layer=nn.LayerNorm``, ``partial(F.pad, …)``."""


class GuardKind(StrEnum):
    """The kind of a condition around a site."""

    device = "device"
    """A test of a value's device: ``x.device.type == "cuda"``."""
    availability = "availability"
    """A test whether a device is available: ``torch.cuda.is_available()``."""
    version = "version"
    failure = "failure"
    """A ``try`` that catches the error."""
    export = "export"
    """A test whether a model is being exported: ``torch.onnx.is_in_onnx_export()``."""
    error = "error"
    """A ``raise``, or a block that ends with one."""


@dataclass(frozen=True)
class Guard:
    """A condition around a site, such as an ``if`` or a ``try``. A site is a place that uses the framework."""

    kind: GuardKind
    line: int
    text: str
    """The condition's source on one line."""
    device: str = ""
    """The device type that the condition names: ``cuda`` for ``x.is_cuda``; empty if it names none."""
    is_on_device: bool = True
    """True if the guarded code runs on this device, False if it runs on all other devices."""

    def reaches(self, device: str) -> bool | None:
        """Whether the guarded code runs for a value on a device; None if the condition names no device type."""
        return (self.device == device) is self.is_on_device if self.device else None


class Flag(NamedTuple):
    """A parameter or field that is off by default, and that selects a part of the code."""

    name: str
    """The name without underscores at its start."""
    is_none: bool = False
    """Whether the default is None, and not False."""


@dataclass(slots=True, unsafe_hash=True)
class Site:
    """One use of a framework function. No code changes a site. The class is not frozen, because a large package has
    hundreds of thousands of sites, and a frozen one takes twice as long to create."""

    path: str
    """The path relative to the assessed code. For a notebook it includes the cell: ``train.ipynb#3``."""
    line: int
    column: int
    """The column in characters, counted from 1; 0 for a recorded call."""
    function: str
    """The function's public name: ``torch.where``, ``torch.Tensor.__getitem__``."""
    certainty: Certainty
    use: Use
    call: CallSite | None
    """The call's arguments; None if the function is not called here, or if arguments are unpacked (``*args``)."""
    within: str
    """The user's function or method that contains the site: ``ResNet.forward``; empty outside of functions."""
    guards: tuple[Guard, ...] = ()
    dtypes: frozenset[str] = frozenset()
    """The dtypes of the arguments if the source shows them (``x.half()``, ``dtype=torch.float16``); otherwise empty."""
    reached: bool | None = None
    """Whether a program run reached the site; None if this was not measured."""
    is_on_host: bool = False
    """Whether the arguments stay on the host, as far as the source shows."""
    is_at_setup: bool = False
    """Whether the site is in a function that sets a module up, or reads or writes its state."""
    goes_to_host: bool = False
    """Whether the result is only moved to the host: ``x.unique().cpu()``."""
    is_option: bool = False
    """Whether the program selects the function at run time: from a table such as ``{"max": nn.MaxPool1d, "mean":
    nn.AvgPool1d}``, by a text in the condition of its branch, or because a name may stand for several functions."""
    is_in_loop: bool = True
    """Whether the site is in a loop of its function."""
    has_gradient: bool = True
    """Whether gradients may be computed at the site: not under ``torch.no_grad()``."""
    flag: Flag | None = None
    """A flag that is off by default, that no code of the user switches on, and without which the program does not reach
    the site."""


class UserFunction(NamedTuple):
    """A user's function or method."""

    path: str
    """The path of the function's file."""
    within: str
    """The function's name within the file: ``ResNet.forward``."""
    owner: str = ""
    """The dotted name of a method's class; empty for a function."""
    bases: tuple[str, ...] = ()
    """The framework's base classes of the method's class."""
    is_of_layer: bool = False
    """Whether the method's class is a layer."""
    is_of_foreign_class: bool = False
    """Whether the method's class inherits from a class of another package, which may itself inherit from a framework's
    class."""
    is_of_metric: bool = False
    """Whether the method's class is a metric."""
    is_aside: bool = False
    """Whether the function is a method of a tokenizer, which works on the host, or a method that runs once or once in
    an epoch."""
    has_arrays: bool = False
    """Whether the function takes arrays."""
    returns_numbers: bool = False
    """Whether the function returns Python values, such as a number or a text, and no array."""
    takes_state: bool = False
    """Whether the function takes the weights of a module, and so probably loads or converts them."""
    is_left_out: bool = False
    """Whether other files import names from the function's file, but neither this function nor the whole module. For a
    method, whether this holds for its class, and no other code uses the class."""
    has_gradient: bool = True
    """Whether gradients may be computed in the function: it has no decorator such as ``@torch.no_grad()``."""
    overrides: str | None = None
    """The user's method that this method overrides."""
    uses: tuple[str, ...] = ()
    """The methods and properties of its own class that the method uses."""
    members: tuple[str, ...] = ()
    """The members that the function uses of objects whose classes are unknown. It includes only names of the user's
    methods, and names that show a training step."""


@dataclass(frozen=True)
class CallGraph:
    """The user's functions, and the functions that each of them calls or passes on."""

    functions: Mapping[str, UserFunction]
    """The user's functions by their dotted names (``package.module.ResNet.forward``)."""
    calls: Mapping[str, frozenset[str]]
    """The user's functions that each user's function calls."""
    handed_on: Mapping[str, frozenset[str]]
    """The functions that each function or class body passes on as values.

    Code outside of functions is under the module's name. For this code, the functions that it calls are included too.
    """
    modules: Mapping[str, str]
    """The dotted module name of each path."""


@dataclass(frozen=True)
class DeviceQuestion:
    """An expression that tests the device. On another device, the program may take another branch."""

    path: str
    line: int
    text: str


@dataclass(frozen=True)
class UnreadFile:
    """A file that was not read, with the reason."""

    path: str
    reason: str


@dataclass(frozen=True)
class AssessedSource:
    """Everything that was read from the assessed code."""

    sites: tuple[Site, ...]
    device_questions: tuple[DeviceQuestion, ...] = ()
    unread: tuple[UnreadFile, ...] = ()
    files: int = 0
    """The number of files that were read."""
    frameworks: frozenset[str] = frozenset()
    """The frameworks that the code imports, whether they were asked for or not."""
    star_imports: int = 0
    """The number of star imports, which hide the origin of names."""
    dynamic_names: int = 0
    """The number of places where a name or code is made at run time (``getattr``, ``eval``), in files that import a
    framework."""
    calls: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """The user's functions that each user's function (``package.module.ResNet.forward``) calls."""
    is_repeated: Mapping[str, bool] = field(default_factory=dict)
    """For each user's function, by the name used in ``calls``: whether it runs again and again on the device."""
    offered_functions: frozenset[str] = frozenset()
    """The user's functions, by the names used in ``calls``, that only public methods reach which no code of the user
    calls."""
    trained_functions: frozenset[str] = frozenset()
    """The user's functions, by the names used in ``calls``, whose backward passes a training step runs too."""
    modules: Mapping[str, str] = field(default_factory=dict)
    """The dotted module name of each path. The module name, a dot and ``Site.within`` are the name of a function in
    ``calls``."""

    @cached_property
    def host_reads(self) -> tuple[Site, ...]:
        """The sites that read a value on the host, so that the program waits for the device; only the first site of
        each line."""
        by_line: dict[tuple[str, int], Site] = {}
        for site in self.sites:
            if site.function in HOST_READS:
                by_line.setdefault((site.path, site.line), site)
        return tuple(by_line.values())


def function_of(site: Site, modules: Mapping[str, str]) -> str | None:
    """The dotted name of the user's function that contains a site; None outside of functions."""
    return f"{modules[site.path]}.{site.within}" if site.within and site.path in modules else None
