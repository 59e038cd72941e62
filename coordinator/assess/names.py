"""Names of functions: translates the name that a source uses into the name under which the function was charted."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from coordinator.assess.evidence import TargetEvidence
from coordinator.catalogue.releases import nearest
from coordinator.catalogue.surfaces import ROOTS, Surface, open_surface, shipped_releases
from coordinator.results.conditions import CallSite

TWINS: Mapping[str, tuple[str, ...]] = {
    "torch.Tensor": ("torch",),
    "tf.Tensor": ("tf", "tf.math"),
    "jax.Array": ("jax.numpy",),
}
"""For each array class, the modules with functions that are equivalent to its methods of the same name."""

_CLASS_WITH_METHOD = re.compile(
    r"(torch\.optim\.(?:lr_scheduler\.)?\w+)\.step"
    r"|(torch\.(?:(?:cuda\.)?amp\.)?GradScaler)\.(?:get_scale|scale|step|unscale_|update)"
    r"|(tf\.(?:keras\.)?optimizers\.\w+)\.(?:apply|apply_gradients)"
)
"""Matches a method that every case of its class calls. The regular expression's group is the class."""


@dataclass(frozen=True)
class ChartedName:
    """The charted name of a function."""

    name: str
    is_twin: bool = False
    """Whether the charted name is an equivalent function, which takes the method's object as its first argument."""
    is_class: bool = False
    """Whether the charted name is the method's class. Its cases have the arguments of the class."""

    def call(self, call: CallSite) -> CallSite | None:
        """A method's call in the form of a call of the charted function; None if the call's arguments cannot be
        compared with the cases."""
        if self.is_class:
            return None
        if not self.is_twin:
            return call
        arguments = {number + 1: value for number, value in call.arguments.items()}
        return CallSite(call.positional + 1, call.keywords, arguments)


@dataclass(frozen=True)
class Names:
    """The charted functions by all of their names."""

    functions: frozenset[str]
    surface: Surface | None = None
    """The canonical names of the release, by alias."""

    def charted_name(self, function: str) -> ChartedName | None:
        """The charted name for a function. It is the function's own name, an alias, the name of an equivalent function,
        or for a method the name of its class. None if none of these names is charted."""
        if (name := self._by_any_name(function)) is not None:
            return ChartedName(name)
        owner, _, method = function.rpartition(".")
        for module in TWINS.get(owner, ()):
            if (name := self._by_any_name(f"{module}.{method}")) is not None:
                return ChartedName(name, is_twin=True)
        if match := _CLASS_WITH_METHOD.fullmatch(function):
            (class_name,) = filter(None, match.groups())
            if (name := self._by_any_name(class_name)) is not None:
                return ChartedName(name, is_class=True)
        return None

    def _by_any_name(self, function: str) -> str | None:
        return function if function in self.functions else self._aliases.get(function)

    @cached_property
    def _aliases(self) -> Mapping[str, str]:
        """The charted name for every alias of the same object."""
        if self.surface is None:
            return {}
        entries = ((name, self.surface.by_name.get(name)) for name in sorted(self.functions))
        return {alias: name for name, entry in entries if entry for alias in (entry.name, *entry.aliases)}


def all_names(function: str) -> frozenset[str]:
    """All names under which the evidence of any release may contain the function: its aliases, and functions equivalent
    to the method."""
    names = {function}
    root = function.partition(".")[0]
    for release in shipped_releases():
        if ROOTS[release.partition("@")[0]] == root and (entry := open_surface(release).resolve(function)) is not None:
            names |= {entry.name, *entry.aliases}
    methods = [name.rpartition(".") for name in names]
    return frozenset(names | {f"{module}.{last}" for owner, _, last in methods for module in TWINS.get(owner, ())})


def names_of(target: TargetEvidence) -> Names:
    """The names of a target's functions, with the aliases of the nearest release whose surface ships with Portolan."""
    release = nearest(target.framework, target.version)
    return Names(frozenset(target.functions), open_surface(release) if release else None)
