"""Watching threads: torch's dispatch modes are each thread's own, so one that starts has to enter the watch itself."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any


@contextmanager
def entered_by_threads(watch: Callable[[], AbstractContextManager[Any]]) -> Iterator[None]:
    """During the block, every new thread starts inside a watch of its own, which lasts until the thread ends."""

    def enter(frame: Any, event: str, argument: Any) -> None:
        # The profiling hook of threads is their only public one: it is called at the thread's first step, once.
        sys.setprofile(None)
        watch().__enter__()

    before = threading.getprofile()
    threading.setprofile(enter)
    try:
        yield
    finally:
        threading.setprofile(before)
