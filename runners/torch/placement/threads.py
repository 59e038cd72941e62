"""Watches threads. A dispatch mode of torch belongs to one thread, so each new thread must enter its own watch."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any


@contextmanager
def entered_by_threads(watch: Callable[[], AbstractContextManager[Any]]) -> Iterator[None]:
    """During the block, every new thread starts inside its own watch, which lasts until the thread ends."""

    def enter(frame: Any, event: str, argument: Any) -> None:
        # The profiling hook is the only public hook of threads. It is called once, at the first step of a thread.
        sys.setprofile(None)
        watch().__enter__()

    before = threading.getprofile()
    threading.setprofile(enter)
    try:
        yield
    finally:
        threading.setprofile(before)
