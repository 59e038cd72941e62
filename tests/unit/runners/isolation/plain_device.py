"""The base of the tests' devices, which compute with arrays of NumPy or of a framework made for the tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from runners.suite.device import Proof


class PlainDevice:
    """A device without hardware. Nothing is opened, pending or random, and no work is counted."""

    framework = "arrays"
    traces_anew = True

    def __init__(self, name: str) -> None:
        self.name = name

    def prime(self) -> None:
        """Nothing has to be opened."""

    @property
    def handle(self) -> str:
        return self.name

    def dtype(self, name: str) -> str:
        return name

    def scope(self, dtype: str) -> AbstractContextManager[None]:
        return nullcontext()

    def to_device(self, tree: Any, dtype: str) -> Any:
        return tree

    def wait(self, tree: Any) -> None:
        """Nothing is ever pending."""

    def seed(self, seed: int) -> None:
        """Nothing is random."""

    def on_device(self, device: str) -> bool:
        return device == self.name

    @contextmanager
    def counting(self, proof: Proof) -> Iterator[None]:
        yield

    tracing = counting

    def compiled(self, call: Callable[..., Any]) -> Callable[..., Any]:
        return call
