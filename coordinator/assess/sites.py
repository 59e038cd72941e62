"""Sites: the places of a user's source that use a function of a framework, as far as the source says how. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from coordinator.results.conditions import CallSite


class Certainty(StrEnum):
    """How the name of the function at a site is known."""

    resolved = "resolved"
    """Through the file's imports."""
    typed = "typed"
    """A method or an operator on a value whose class is known from the code around it."""
    recorded = "recorded"
    """It was seen to be called, by a recorder."""
    guessed = "guessed"
    """By the name of the method alone."""


class Use(StrEnum):
    """How a site uses the function."""

    called = "called"
    operator = "operator"
    """``a @ b``, ``x[mask]``, ``x[mask] = v``."""
    named = "named"
    """Handed on as a value: ``norm_layer=nn.LayerNorm``, ``partial(F.pad, …)``."""


class GuardKind(StrEnum):
    """The kind of condition under which a site stands."""

    device = "device"
    """``x.device.type == "cuda"``."""
    availability = "availability"
    """``torch.cuda.is_available()``."""
    version = "version"
    failure = "failure"
    """In a ``try`` that catches what it raises."""


@dataclass(frozen=True)
class Guard:
    """A condition under which a site stands."""

    kind: GuardKind
    line: int
    text: str
    """Its source, in one line."""


@dataclass(frozen=True, slots=True)
class Site:
    """One use of a function of a framework."""

    path: str
    """Relative to what was assessed; of a notebook with the cell: ``train.ipynb#3``."""
    line: int
    column: int
    function: str
    """Its public name: ``torch.where``, ``torch.Tensor.__getitem__``."""
    certainty: Certainty
    use: Use
    call: CallSite | None
    """Its arguments; None if it is not called here, or if they are unpacked from somewhere."""
    within: str
    """The function or method of the user's that it stands in: ``ResNet.forward``; empty at the top of a file."""
    guards: tuple[Guard, ...] = ()
    dtypes: frozenset[str] = frozenset()
    """Of its arguments, where the source says them (``x.half()``, ``dtype=torch.float16``); empty if it does not."""
    reached: bool | None = None
    """Whether a program ran it; None: that was not measured."""


@dataclass(frozen=True)
class DeviceQuestion:
    """A place that asks which device it is on: another device takes another way there."""

    path: str
    line: int
    text: str


@dataclass(frozen=True)
class UnreadFile:
    """A file that was not read, and the reason in words."""

    path: str
    reason: str


@dataclass(frozen=True)
class AssessedSource:
    """The content of what was assessed."""

    sites: tuple[Site, ...]
    device_questions: tuple[DeviceQuestion, ...] = ()
    unread: tuple[UnreadFile, ...] = ()
    files: int = 0
    """Files that were read."""
    star_imports: int = 0
    """Imports of everything, which hide where a name comes from."""
    calls: dict[str, frozenset[str]] = field(default_factory=dict)
    """By a function of the user's (``package.module.ResNet.forward``), those of the user's that it calls."""
    modules: dict[str, str] = field(default_factory=dict)
    """By path, the module's dotted name: with ``Site.within`` behind it, a function's name in ``calls``."""
