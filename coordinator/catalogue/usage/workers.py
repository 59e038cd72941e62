"""Worker processes that parse files in batches. If a file crashes its worker, all other files are still counted."""

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
"""The maximum address space of a worker in bytes. A file whose syntax tree needs more memory is rejected."""
NESTING = 3_000
"""The maximum nesting depth of expressions. Only generated code is nested more deeply."""
UNPARSABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
"""The errors that the parser raises for a file that it cannot parse."""


class Workers(Generic[Result]):
    """A pool of worker processes. If one of them dies, all of them are restarted.

    ``parse`` handles a batch in a worker that ``prepare`` has initialized. ``on_crash`` returns the result for a file
    that crashed its worker.
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
        """The results of a batch. If a worker died during the batch, the files of the batch are parsed one by one."""
        try:
            return [batch_result.result()]
        except BrokenProcessPool:
            # Any of the batches in progress may contain the file that crashed the worker.
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
    """Limit the memory and the recursion depth of this process, because it parses code by unknown authors."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    # Core dumps are switched off, because those of crashed parsers would fill the disk.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.setrecursionlimit(NESTING)
    # The parser warns about the parsed source, for example about invalid escapes. These warnings are hidden.
    warnings.simplefilter("ignore")
    # Syntax trees have no cycles, and searching for cycles takes a third of the time.
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
