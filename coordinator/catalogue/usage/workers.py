"""Worker processes that parse files in batches: a file that ends its process costs itself alone."""

from __future__ import annotations

import gc
import multiprocessing
import resource
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Generic, TypeVar

from coordinator.catalogue.usage.sources import SourceFile

Result = TypeVar("Result")
MEMORY_BYTES = 3_000_000_000
"""Address space of a worker: a file whose tree needs more is refused."""
NESTING = 3_000
"""Maximum nesting of expressions; deeper ones were written by programs."""
UNPARSABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
"""Errors that parsing a file raises."""


class Workers(Generic[Result]):
    """Worker processes that are started again when one of them dies.

    ``parse`` reads a batch in a worker that ``prepare`` made ready; ``on_crash`` is the result of a file that ended its
    worker.
    """

    def __init__(
        self,
        processes: int,
        parse: Callable[[Sequence[SourceFile]], Result],
        on_crash: Callable[[SourceFile], Result],
        prepare: Callable[..., None],
        arguments: tuple[Any, ...],
    ) -> None:
        self._processes = processes
        self._parse = parse
        self._ended = on_crash
        self._prepare = prepare, arguments
        self._executor = self._start_executor(processes)

    def _start_executor(self, processes: int) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(
            processes,
            mp_context=multiprocessing.get_context("forkserver"),
            initializer=_start,
            initargs=self._prepare,
        )

    def submit(self, files: Sequence[SourceFile]) -> Future[Result]:
        try:
            return self._executor.submit(self._parse, files)
        except BrokenProcessPool:
            self._restart()
            return self._executor.submit(self._parse, files)

    def results(self, files: Sequence[SourceFile], batch_result: Future[Result]) -> Sequence[Result]:
        """The result of a batch; results of its files one by one if a worker died under it."""
        try:
            return [batch_result.result()]
        except BrokenProcessPool:
            # Any of the batches in progress may contain the file that ended the worker.
            return list(self._one_by_one(files))

    def _one_by_one(self, files: Sequence[SourceFile]) -> Iterator[Result]:
        alone = self._start_executor(1)
        for source in files:
            try:
                yield alone.submit(self._parse, [source]).result()
            except BrokenProcessPool:
                yield self._ended(source)
                alone.shutdown()
                alone = self._start_executor(1)
        alone.shutdown()

    def _restart(self) -> None:
        self._executor.shutdown(wait=False)
        self._executor = self._start_executor(self._processes)

    def close(self) -> None:
        self._executor.shutdown(wait=True, cancel_futures=True)


def _start(prepare: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    prepare(*arguments)
    bound_parser()


def bound_parser() -> None:
    """Limit the memory and the depth of this process, because it parses other people's code."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    # A crash of a parser is counted; its core dump would fill the disk.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.setrecursionlimit(NESTING)
    # Parsing warns about the source: invalid escapes, comparisons with literals.
    warnings.simplefilter("ignore")
    # Trees have no cycles, and looking for some costs a third of the time.
    gc.disable()


def fault_of(error: Exception) -> str:
    """The reason why a file cannot be parsed, in a few words."""
    if isinstance(error, RecursionError | MemoryError):
        return "nested too deep"
    return _fault(error) if isinstance(error, SyntaxError) else "NUL or bad encoding"


def _fault(error: SyntaxError) -> str:
    text = error.msg or ""
    if "null bytes" in text:
        return "NUL or bad encoding"
    if text.startswith(("Missing parentheses in call", "multiple exception types")) or "octal" in text:
        return "Python 2"
    if isinstance(error, (IndentationError, TabError)):
        return "indentation"
    if "encod" in text or "codec" in text or "utf-8" in text or "unicode" in text.lower():
        return "NUL or bad encoding"
    return "nested too deep" if "too many nested" in text else "no Python 3"
