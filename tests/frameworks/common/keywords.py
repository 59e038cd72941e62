"""Keywords: which keywords of a function its cases pass, recorded at the calls.

``Recorder`` is a device whose functions record their arguments. An argument counts as passed if the call returns and
the value differs from the default. If some processors have no kernel for a case, its arguments count without a call, so
that the result is the same on every processor. ``inspect`` reads the signatures. A framework whose functions have no
Python signatures has its own function for this (``Signatures``).
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from runners.suite.cases import Case
from runners.suite.device import Device
from runners.suite.replacing import replacing

Signatures = Callable[[Any], Sequence[inspect.Signature]]
"""The signatures of a function, one for each overload; empty if no source has them."""
Methods = Callable[[type], Sequence[str]]
"""The methods of a class whose keywords affect what its instances compute."""
Wrap = Callable[[Callable[..., Any]], Callable[..., Any]]


def of_python(function: Any) -> list[inspect.Signature]:
    try:
        return [inspect.signature(function)]
    except (TypeError, ValueError):
        return []


@dataclass
class Reading:
    """How the keywords of one framework's functions are read."""

    signatures: Signatures = of_python
    methods: Methods = lambda owner: ["__init__"]
    wrap: Wrap = lambda function: function
    """Keeps the framework's compiler away from the recording function."""
    by_call: tuple[type, ...] = ()
    """Classes whose instances belong to another class, so that only the call shows the arguments."""


@dataclass
class Recorder:
    """A device on which every function records the keywords of its calls."""

    device: Device
    reading: Reading
    given: set[str] = field(default_factory=set)
    believed: bool = False
    """Whether a call that raises also counts."""
    _patches: ExitStack = field(default_factory=ExitStack)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.device, name)

    def asked_of(self, function_cases: Iterable[Case]) -> set[str]:
        """Every keyword of the functions of these cases that this version of the framework has."""
        keywords: set[str] = set()
        for name in {case.looked_up for case in function_cases}:
            with suppress(LookupError):
                for function in self._called(self.device.lookup(name)):
                    keywords |= optional_in(self.reading.signatures(function))
        return keywords

    @contextmanager
    def recording(self) -> Iterator[None]:
        """During the block, classes also record their calls. They stay the same objects, because other classes derive
        from them."""
        with self._patches:
            yield

    def lookup(self, name: str) -> Any:
        member = self.device.lookup(name)
        if not callable(member):
            return member
        if not self._is_patched(member):
            return self._noting(member)
        for method in self.reading.methods(member):
            self._patches.enter_context(replacing(member, method, self._noting(getattr(member, method))))
        return member

    def _is_patched(self, function: Any) -> bool:
        return isinstance(function, type) and function not in self.reading.by_call

    def _called(self, function: Any) -> list[Any]:
        if not callable(function):
            return []
        if not self._is_patched(function):
            return [function]
        return [getattr(function, method) for method in self.reading.methods(function)]

    def _noting(self, function: Any) -> Any:
        signatures = self.reading.signatures(function)

        def noting(*arguments: Any, **options: Any) -> Any:
            if self.believed:
                self.given |= given_in(signatures, arguments, options)
            result = function(*arguments, **options)
            self.given |= given_in(signatures, arguments, options)
            return result

        return self.reading.wrap(functools.wraps(function)(noting))


def optional_in(signatures: Sequence[inspect.Signature]) -> set[str]:
    """The names that a call may omit: those with a default, and those that some overload does not have."""
    by_name = [_by_name(signature) for signature in signatures]
    every = {name for parameters in by_name for name in parameters}
    required_names = set.intersection(
        *({name for name in own if own[name].default is own[name].empty} for own in by_name), every
    )
    return every - required_names


def given_in(signatures: Sequence[inspect.Signature], arguments: Sequence[Any], options: Mapping[str, Any]) -> set[str]:
    """The names to which a call passes another value than the default. If several overloads fit the call, all of them
    count."""
    names: set[str] = set()
    for signature in signatures:
        try:
            bound = signature.bind(*arguments, **options).arguments
        except TypeError:
            continue
        parameters = _by_name(signature)
        names |= {name for name in bound if name in parameters and _differs(bound[name], parameters[name].default)}
    return names


def _by_name(signature: inspect.Signature) -> dict[str, inspect.Parameter]:
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return {name: parameter for name, parameter in signature.parameters.items() if parameter.kind not in variadic}


def _differs(value: Any, default: Any) -> bool:
    if value is default:
        return False
    if isinstance(value, (bool, int, float, str)) and isinstance(default, (bool, int, float, str)):
        return value != default
    return not (
        isinstance(value, (list, tuple)) and isinstance(default, (list, tuple)) and list(value) == list(default)
    )
