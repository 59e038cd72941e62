"""A watch over a call. It pauses while the case does work that is not the function's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

from runners.suite.device import Proof
from runners.suite.trees import numbers_in

Watch = Callable[[Proof], AbstractContextManager[None]]
"""``Device.counting`` or ``Device.tracing``."""


class PausableWatch:
    """Watches the calls of one attempt, and fills its proof."""

    def __init__(self, proof: Proof) -> None:
        self._proof = proof
        self._watching: tuple[ExitStack, Watch] | None = None
        """The active watch, if any."""

    @contextmanager
    def watching(self, watch: Watch) -> Iterator[None]:
        """Watch a call during the block."""
        with ExitStack() as stack:
            stack.enter_context(watch(self._proof))
            self._watching = stack, watch
            try:
                yield
            finally:
                self._watching = None

    @contextmanager
    def pause(self, so_far: Any = None) -> Iterator[None]:
        """Pause the active watch, if any, during the block. ``so_far`` holds the parts of the result that exist."""
        if self._watching is None:
            yield
            return
        stack, watch = self._watching
        self._watching = None
        self._proof.returned = numbers_in(so_far)
        self._proof.within_call = True
        stack.close()
        try:
            yield
        finally:
            stack.enter_context(watch(self._proof))
            self._proof.within_call = False
            self._watching = stack, watch
