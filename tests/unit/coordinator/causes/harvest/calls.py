"""Probes, and generic arguments with which nearly any function can be called."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from runners.suite.cases import Context, Function
from runners.suite.checks import leaves
from runners.suite.device import Device

PARTS = ("first", "second", "third")


@dataclass(frozen=True)
class Probe:
    """One call that may fail. ``prepare`` is like that of a case, so that the harness runs a probe like a case."""

    function: str
    call: str
    prepare: Callable[[Context], Callable[[], Any]]
    dtype: str = "float32"

    def function_with_case(self) -> Function:
        function = Function(self.function)
        function.behaviour(self.call, lambda inputs: [], lambda result: None, prepare=self.prepare, dtype=self.dtype)
        return function


def part_of(function: str) -> str | None:
    """The part of a function. Each part has a ninth of all functions, and the others are in no part, so that a run
    takes only minutes."""
    rest, part = divmod(_number(f"part {function}"), len(PARTS))
    return PARTS[part] if rest % 3 == 0 else None


def draw_names(function: str, among: Sequence[str], count: int) -> list[str]:
    """Draw ``count`` names. They are always the same for a function, and differ between functions."""
    return sorted(among, key=lambda each: _number(f"{function} {each}"))[:count]


def _number(text: str) -> int:
    return int.from_bytes(hashlib.sha256(f"20261121 {text}".encode()).digest()[:8], "big")


def _matrix() -> np.ndarray[Any, Any]:
    values = np.random.default_rng(7).uniform(0.1, 0.9, (4, 4))
    return values @ values.T + np.eye(4)


MATRIX = _matrix()
VECTOR = np.array([0.25, 0.5, 0.75, 0.9])
BATCH = np.random.default_rng(8).uniform(0.1, 0.9, (2, 6, 6, 4))
SHAPES: tuple[tuple[Any, ...], ...] = (
    (MATRIX,),
    (MATRIX, MATRIX),
    (VECTOR,),
    (VECTOR, VECTOR),
    (MATRIX, MATRIX, MATRIX),
    (BATCH,),
    (MATRIX, 1),
    (MATRIX, VECTOR),
    (BATCH, 2),
    (MATRIX, 0, 1),
    (BATCH, BATCH),
    ([MATRIX, MATRIX],),
    ([MATRIX, MATRIX], 0),
)
"""Arguments in float32 that are tried one after another until the function accepts some."""


def public(modules: Mapping[str, Any], without: Iterable[str]) -> Iterator[tuple[str, Callable[..., Any]]]:
    """The functions by public name. Each object occurs once."""
    seen_ids: set[int] = set()
    banned_names = set(without)
    for prefix, module in modules.items():
        for name in sorted(dir(module)):
            function = getattr(module, name, None)
            if name.startswith("_") or name in banned_names or isinstance(function, type) or not callable(function):
                continue
            if id(function) not in seen_ids:
                seen_ids.add(id(function))
                yield f"{prefix}.{name}", function


def suitable_arguments(function: Callable[..., Any], device: Device) -> tuple[Any, ...] | None:
    """The first of ``SHAPES`` with which the function returns arrays in float32."""
    for arguments in SHAPES:
        try:
            result = device.to_host(function(*device.to_device(list(arguments), "float32")))
        except (Exception, SystemExit):
            continue
        if leaves(result):
            return arguments
    return None


Array = Callable[[np.ndarray[Any, Any], str], Any]
"""A function that creates the framework's own array in a dtype, on the target."""


def casting(
    arguments: tuple[Any, ...], dtype: str, array: Array, function: Callable[..., Any]
) -> Callable[[Context], Callable[[], Any]]:
    """The call with all arrays in one dtype. They are moved to the device before the clock starts."""

    def prepare(context: Context) -> Callable[[], Any]:
        moved_arguments = as_dtype(arguments, dtype, array)
        return context.compiled(lambda: function(*moved_arguments))

    return prepare


def callable_functions(
    modules: Mapping[str, Any], without: Iterable[str], is_chosen: Callable[[str], bool], device: Device
) -> Iterator[tuple[str, Callable[..., Any], tuple[Any, ...]]]:
    """Those of the chosen public functions that accept generic arguments, with these arguments."""
    for name, function in public(modules, without):
        arguments = suitable_arguments(function, device) if is_chosen(name) else None
        if arguments is not None:
            yield name, function, arguments


def transform_call(
    transform: Callable[..., Any], function: Callable[..., Any], arguments: tuple[Any, ...], array: Array
) -> Callable[[Context], Callable[[], Any]]:
    """The call ``transform(function, *arguments)``. Its arrays are moved before the clock starts."""

    def prepare(context: Context) -> Callable[[], Any]:
        moved_arguments = as_dtype(arguments, "float32", array)
        return lambda: transform(function, *moved_arguments)

    return prepare


def as_dtype(tree: Any, dtype: str, array: Array) -> Any:
    if isinstance(tree, np.ndarray):
        return array(tree * 4 if dtype.startswith(("int", "uint")) else tree - 0.5 * (dtype == "bool"), dtype)
    return type(tree)(as_dtype(member, dtype, array) for member in tree) if isinstance(tree, list | tuple) else tree
