"""Counts the uses of framework functions in a corpus (a collection of Python files). This process reads the files, and
worker processes parse them in batches of limited size.

The results of batches are added in the order of the corpus. The state is stored with each batch, so that an interrupted
count resumes after the last stored batch. If a worker crashes, the files of its batch are parsed one by one, and only
the file that caused the crash is not counted.
"""

from __future__ import annotations

import hashlib
import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path

from coordinator.catalogue.surfaces import ROOTS
from coordinator.catalogue.usage.counts import Tally, UsageCounts
from coordinator.catalogue.usage.resolver import uses_of
from coordinator.catalogue.usage.sources import SourceFile, sources
from coordinator.catalogue.usage.state import CountState
from coordinator.catalogue.usage.workers import UNPARSABLE, Workers, fault_of

BATCH_FILES = 200
BATCH_BYTES = 4_000_000
_ROOT_WORDS = tuple(root.encode() for root in ROOTS)

Methods = Mapping[str, frozenset[str]]
Report = Callable[[Tally], None]


@dataclass(frozen=True, slots=True)
class Batch:
    """Consecutive files of a corpus: the files to parse, and the results of the files that need no parsing."""

    files: Sequence[SourceFile]
    tally: Tally
    digests: Sequence[bytes]
    last: int
    """The number of the batch's last file in the corpus, counted from 1."""


def count_corpus(
    corpus: Path, methods: Methods, state: CountState, *, processes: int | None = None, report: Report | None = None
) -> UsageCounts:
    """Count how often the corpus uses each name, beginning after the position of ``state``."""
    total = state.tally()
    ahead = processes or len(os.sched_getaffinity(0))
    pool = Workers(ahead, parse_files, _crash_tally, _prepare, (dict(methods),))
    try:
        waiting: deque[tuple[Batch, Future[Tally]]] = deque()
        for batch in batches(sources(corpus), state):
            waiting.append((batch, pool.submit(batch.files)))
            while len(waiting) > 2 * ahead:
                _finish(*waiting.popleft(), pool, state, total)
                if report is not None:
                    report(total)
        while waiting:
            _finish(*waiting.popleft(), pool, state, total)
    finally:
        pool.close()
    return total.counts(corpus.name or str(corpus))


def _finish(batch: Batch, pending_tally: Future[Tally], pool: Workers[Tally], state: CountState, total: Tally) -> None:
    for tally in pool.results(batch.files, pending_tally):
        batch.tally.add(tally)
    total.add(batch.tally)
    state.write(total, batch.digests, batch.last)


def batches(sources: Iterator[SourceFile], state: CountState) -> Iterator[Batch]:
    """Group files into batches. Duplicates and files that mention no framework are counted in a batch, but are not
    among its files to parse."""
    files: list[SourceFile] = []
    tally, digests, size, number = Tally(), [], 0, 0
    pending: set[bytes] = set()
    for number, source in enumerate(sources, 1):
        if number <= state.position:
            continue
        tally.files["seen"] += 1
        if source.refusal is not None:
            tally.refuse(source.refusal, source.name)
        elif (digest := hashlib.blake2b(source.content, digest_size=16).digest()) in pending or state.knows(digest):
            tally.files["duplicates"] += 1
        else:
            pending.add(digest)
            digests.append(digest)
            if any(word in source.content for word in _ROOT_WORDS):
                files.append(source)
                size += len(source.content)
            else:
                tally.files["without_framework"] += 1
        if len(files) >= BATCH_FILES or size >= BATCH_BYTES or len(digests) >= 20 * BATCH_FILES:
            yield Batch(files, tally, digests, number)
            # The state contains the digest of a file only after the file's batch was counted, so pending digests are
            # kept here.
            pending = {digest for digest in pending if not state.knows(digest)}
            files, tally, digests, size = [], Tally(), [], 0
    if number > state.position:
        yield Batch(files, tally, digests, number)


_methods: Methods = {}
"""The names of array methods, which are set once in each worker process."""


def _prepare(methods: Methods) -> None:
    global _methods
    _methods = methods


def _crash_tally(source: SourceFile) -> Tally:
    """The tally for a file that crashed its worker process."""
    tally = Tally()
    tally.refuse("ended its process", source.name)
    return tally


def parse_files(files: Sequence[SourceFile]) -> Tally:
    """Parse files in a worker and add up what they use."""
    tally = Tally()
    for source in files:
        parse_file(source, _methods, tally)
    return tally


def parse_file(source: SourceFile, methods: Methods, tally: Tally) -> None:
    """Add the uses in one file to the tally. If the file cannot be parsed, add the reason."""
    try:
        uses = uses_of(source.content, methods)
    except UNPARSABLE as error:
        tally.refuse(fault_of(error), source.name)
        return
    if not uses.frameworks:
        tally.files["without_framework"] += 1
        return
    tally.files["counted"] += 1
    tally.files["star_imports"] += uses.star_imports
    tally.framework_files.update(uses.frameworks)
    if source.package:
        tally.packages[source.package] += 1
    for name in ("resolved", "typed", "guessed"):
        getattr(tally, name).update(getattr(uses, name))
    tally.in_files.update({*uses.resolved, *uses.typed, *uses.guessed})
