"""Sites: the places in a user's source that use a framework's function. Pure."""

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
"""Functions that carry values from the device to Python."""


class Certainty(StrEnum):
    """How the name of the function at a site is known."""

    resolved = "resolved"
    """Resolved through the file's imports."""
    typed = "typed"
    """A method or operator of a value whose class is known from the code."""
    recorded = "recorded"
    """A recorder saw the call."""
    guessed = "guessed"
    """Guessed from the method's name alone."""


class Use(StrEnum):
    """How a site uses the function."""

    called = "called"
    operator = "operator"
    """``a @ b``, ``x[mask]``, ``x[mask] = v``."""
    named = "named"
    """Passed on as a value: ``norm_layer=nn.LayerNorm``, ``partial(F.pad, …)``."""


class GuardKind(StrEnum):
    """The kind of a condition around a site."""

    device = "device"
    """``x.device.type == "cuda"``."""
    availability = "availability"
    """``torch.cuda.is_available()``."""
    version = "version"
    failure = "failure"
    """A ``try`` that catches the error."""


@dataclass(frozen=True)
class Guard:
    """A condition around a site."""

    kind: GuardKind
    line: int
    text: str
    """Its source on one line."""
    device: str = ""
    """The device type that the condition names: ``cuda`` of ``x.is_cuda``; empty if it names none."""
    is_on_device: bool = True
    """Whether the place is reached on that device; else it is reached on all others."""

    def reaches(self, device: str) -> bool | None:
        """Whether a value on a device reaches the place; None if the condition names no device type."""
        return (self.device == device) is self.is_on_device if self.device else None


@dataclass(frozen=True, slots=True)
class Site:
    """One use of a function of a framework."""

    path: str
    """The path relative to the assessed code; for a notebook with the cell: ``train.ipynb#3``."""
    line: int
    column: int
    function: str
    """Its public name: ``torch.where``, ``torch.Tensor.__getitem__``."""
    certainty: Certainty
    use: Use
    call: CallSite | None
    """Its arguments; None if the function is not called here, or if arguments are unpacked from elsewhere."""
    within: str
    """The user's function or method that contains it: ``ResNet.forward``; empty outside of functions."""
    guards: tuple[Guard, ...] = ()
    dtypes: frozenset[str] = frozenset()
    """The dtypes of its arguments, if the source shows them (``x.half()``, ``dtype=torch.float16``); else empty."""
    reached: bool | None = None
    """Whether a program ran it; None: not measured."""
    is_on_host: bool = False
    """Whether its arrays stay on the host, as far as the source shows."""
    is_at_setup: bool = False
    """Whether it is in a method of a module that sets it up, or reads or writes its state."""
    goes_to_host: bool = False
    """Whether its result goes to the host at once: ``x.unique().cpu()``."""


class UserFunction(NamedTuple):
    """A function or method of the user's."""

    path: str
    """The path of its file."""
    within: str
    """Its name within the file: ``ResNet.forward``."""
    owner: str = ""
    """The dotted name of the class of a method."""
    bases: tuple[str, ...] = ()
    """The framework's classes from which that class inherits."""
    is_of_layer: bool = False
    """Whether that class is a layer."""
    is_of_foreign_class: bool = False
    """Whether that class inherits from a class of another package, which may be a framework's in turn."""
    has_arrays: bool = False
    """Whether it takes arrays; a method may also return them, or be a property."""
    returns_numbers: bool = False
    """Whether it returns Python's own values, such as a number or a text, and no array."""
    overrides: str | None = None
    """The user's method that it overrides."""
    uses: frozenset[str] = frozenset()
    """The methods and properties of its own class that it uses."""
    members: frozenset[str] = frozenset()
    """The names of the members that it uses of values of unknown class: those that the user has methods of, and those
    that show a training step."""


@dataclass(frozen=True)
class DeviceQuestion:
    """A place that tests the device: the program may take another branch on another device."""

    path: str
    line: int
    text: str


@dataclass(frozen=True)
class UnreadFile:
    """An unread file, with the reason."""

    path: str
    reason: str


@dataclass(frozen=True)
class AssessedSource:
    """The content of the assessed code."""

    sites: tuple[Site, ...]
    device_questions: tuple[DeviceQuestion, ...] = ()
    unread: tuple[UnreadFile, ...] = ()
    files: int = 0
    """Number of files that were read."""
    star_imports: int = 0
    """Star imports, which hide the origin of names."""
    dynamic_names: int = 0
    """Places where a program that imports a framework makes a name or code at run time (``getattr``, ``eval``)."""
    calls: dict[str, frozenset[str]] = field(default_factory=dict)
    """The user's functions that each user's function (``package.module.ResNet.forward``) calls."""
    handed_on: dict[str, frozenset[str]] = field(default_factory=dict)
    """The functions that each function or class body hands on as values. The code of a module outside of functions
    has the module's name, and the functions that it calls count too."""
    functions: dict[str, UserFunction] = field(default_factory=dict)
    """The user's functions by their names in ``calls``."""
    modules: dict[str, str] = field(default_factory=dict)
    """The dotted module name by path; followed by ``Site.within`` it is a function's name in ``calls``."""

    @cached_property
    def host_reads(self) -> tuple[Site, ...]:
        """The first site of each line that reads a value on the host. The program waits there for the device."""
        by_line: dict[tuple[str, int], Site] = {}
        for site in self.sites:
            if site.function in HOST_READS:
                by_line.setdefault((site.path, site.line), site)
        return tuple(by_line.values())


def function_of(site: Site, modules: Mapping[str, str]) -> str | None:
    """The dotted name of the user's function that contains a site; None outside of functions."""
    return f"{modules[site.path]}.{site.within}" if site.within and site.path in modules else None
