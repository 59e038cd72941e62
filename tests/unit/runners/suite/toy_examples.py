"""A toy with examples: a module of functions whose docstrings do what no example should, its dialect and its device."""

from __future__ import annotations

import ast
import ctypes
import random
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import ModuleType
from typing import Any, cast

import numpy as np

from runners.suite.cases import Context
from runners.suite.device import Device
from runners.suite.examples import Setting, no_plain_form

toy = ModuleType("toy")
toy.scale = 1.0  # type: ignore[attr-defined]


class Generator:
    """Numbers of a seed of the toy's own."""

    def __init__(self) -> None:
        self.source = random.Random(0)

    def manual_seed(self, seed: int) -> None:
        self.source.seed(seed)

    def draw(self) -> float:
        return self.source.random()


def double(value: Any) -> Any:
    """Double a value by the scale of the whole process."""
    return 2 * value * toy.scale


def eig(value: Any) -> Any:
    """Give a value that is right with another sign, too."""
    return -value


def set_scale(value: float) -> None:
    """Turn a setting of the whole process."""
    toy.scale = value  # type: ignore[attr-defined]


def break_scale() -> None:
    """Turn a setting that nothing puts back."""
    toy.broken = True  # type: ignore[attr-defined]


def write_unheard() -> None:
    """Make a file where Python looks for temporary ones, as compiled code does: by no audit event."""
    ctypes.CDLL(None).mkdir(f"{tempfile.gettempdir()}/left".encode(), 0o700)


generator = Generator()
for found in (double, eig, set_scale, break_scale, write_unheard, generator):
    setattr(toy, getattr(found, "__name__", "generator"), found)
toy.manual_seed = generator.manual_seed  # type: ignore[attr-defined]
toy.draw = generator.draw  # type: ignore[attr-defined]


class ToyDialect:
    """The part of the toy in its examples: its arrays are NumPy's."""

    def __init__(self) -> None:
        self.forced_to: list[Any] = []

    def names(self, device: Any) -> Mapping[str, Any]:
        return {"toy": toy, "Generator": Generator}

    @contextmanager
    def forced(self, device: Any) -> Iterator[None]:
        self.forced_to.append(device)
        yield

    def rewritten(self, tree: ast.Module) -> ast.Module:
        return tree

    def settings(self) -> Sequence[Setting]:
        return [
            Setting("the scale", lambda: toy.scale, set_scale),
            Setting("what is broken", lambda: hasattr(toy, "broken")),
        ]

    def is_array(self, value: Any) -> bool:
        return False

    def is_changeable(self, value: Any) -> bool:
        return not isinstance(value, tuple)

    def plain(self, value: Any) -> Any:
        raise no_plain_form(value)

    def compiled(self, context: Context, call: Callable[[], Any]) -> Callable[[], Any]:
        return context.compiled(call)


class ToyDevice:
    """The host."""

    name = "cpu"
    handle = "the host"

    def prime(self) -> None:
        """Nothing is to be opened."""

    def seed(self, seed: int) -> None:
        random.seed(seed)
        np.random.seed(seed)

    def scope(self, dtype: str) -> AbstractContextManager[None]:
        return nullcontext()

    def to_host(self, tree: Any) -> Any:
        return tree

    def lookup(self, name: str) -> Any:
        try:
            return getattr(toy, name.removeprefix("toy."))
        except AttributeError:
            raise LookupError(name) from None


def device() -> Device:
    return cast(Device, ToyDevice())
