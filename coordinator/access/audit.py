"""The audit log: who changed what, when, and from where.

When a request ends, its entry is written to the process's log and queued. One task stores the queue in the database
within moments. While the database is unreachable, entries wait in memory. Above a limit, the oldest are dropped with a
warning. If the process is killed, entries that were still queued are only in the process's log.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal, get_args

from sqlalchemy.ext.asyncio import AsyncEngine

from coordinator.access import store
from coordinator.access.caller import Caller
from coordinator.access.roles import Role
from coordinator.access.tokens import PREFIX
from coordinator.process.logs import get_logger

log = get_logger(__name__)

MOST_WAITING = 10_000
BATCH = 200
LONGEST_PATH = 300
LONGEST_DETAIL = 300
USE_EVERY = timedelta(minutes=1)
"""The minimum interval between two updates of a token's time of last use."""
REFUSALS_AT_ONCE = 60
REFUSALS_PER_S = 0.1
"""The maximum rate of recorded refusals. Anyone can send requests that are refused, so their entries must not fill the
disk."""
FLUSH_WITHIN_S = 2.0

Limited = Literal["nobody's", "refused", "a viewer's"]


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One change, or one refused request."""

    at: datetime
    who: str
    kind: str
    role: str | None
    token_id: int | None
    address: str
    """The client's address, as seen on the connection."""
    method: str
    route: str | None
    path: str
    status: int
    detail: str | None


class RefusalLimit:
    """A token bucket that limits how many refusals are stored.

    ``admit`` returns None for an entry above the rate. Otherwise it returns the number of entries that were dropped
    before it.
    """

    def __init__(self, at_once: int = REFUSALS_AT_ONCE, per_s: float = REFUSALS_PER_S) -> None:
        self._at_once, self._per_s = at_once, per_s
        self._left = float(at_once)
        self._at: float | None = None
        self._left_out = 0

    def admit(self, now: float) -> int | None:
        if self._at is not None:
            self._left = min(self._at_once, self._left + (now - self._at) * self._per_s)
        self._at = now
        if self._left < 1:
            self._left_out += 1
            return None
        self._left -= 1
        left_out, self._left_out = self._left_out, 0
        return left_out


def make_entry(
    caller: Caller, address: str, method: str, route: str | None, path: str, status: int, detail: str | None
) -> AuditEntry:
    """Make an entry. Each text is truncated to its limit, and characters and tokens that must not be stored are
    replaced."""
    return AuditEntry(
        datetime.now(UTC),
        caller.name,
        caller.kind,
        None if caller.role is None else str(caller.role),
        caller.token_id,
        address,
        method[:16],
        route,
        _storable(path, LONGEST_PATH),
        status,
        None if detail is None else _storable(detail, LONGEST_DETAIL),
    )


def _storable(text: str, longest: int) -> str:
    """The text truncated to its limit, without control characters, and without tokens that a person put into a URL by
    mistake."""
    clean = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)
    start = clean.find(PREFIX)
    if start >= 0:
        clean = clean[: start + len(PREFIX)] + "…"
    return clean[:longest]


def _limited_kind(entry: AuditEntry) -> Limited | None:
    """The kind of an entry whose rate is limited; None for other entries.

    The rate of refusals and of login links is limited, because anonymous callers and viewers can create them at will.
    """
    if entry.kind == "anonymous":
        return "nobody's" if entry.status >= 400 else None
    if entry.status >= 400:
        return "refused"
    return "a viewer's" if entry.role == Role.viewer else None


class AuditWriter:
    """Queues entries with ``record`` in microseconds, and stores them with ``run``."""

    def __init__(self, engine: AsyncEngine, clock: Callable[[], float] = time.monotonic) -> None:
        self._engine = engine
        self._clock = clock
        # Separate buckets, so that callers without a token cannot crowd out the refusals of other callers.
        self._limits: dict[Limited, RefusalLimit] = {kind: RefusalLimit() for kind in get_args(Limited)}
        self._entries: deque[AuditEntry] = deque()
        self._used: set[int] = set()
        self._some = asyncio.Event()

    def record(self, entry: AuditEntry) -> None:
        if (kind := _limited_kind(entry)) is not None:
            left_out = self._limits[kind].admit(self._clock())
            if left_out is None:
                return
            if left_out:
                self._put(_left_out(entry, left_out))
        self._put(entry)

    def note_use(self, token_id: int) -> None:
        self._used.add(token_id)
        self._some.set()

    async def run(self) -> None:
        while True:
            await self._some.wait()
            self._some.clear()
            try:
                await self._store()
            except BaseException:
                self._some.set()
                raise

    async def flush(self) -> None:
        """Store the waiting entries when the process shuts down, within the time limit for shutdown."""
        try:
            async with asyncio.timeout(FLUSH_WITHIN_S):
                await self._store()
        except Exception:
            log.warning("audit entries could not be stored; this log is their only record", entries=len(self._entries))

    async def _store(self) -> None:
        while self._entries:
            batch = [self._entries[n] for n in range(min(BATCH, len(self._entries)))]
            async with self._engine.begin() as connection:
                await store.add_entries(connection, [asdict(entry) for entry in batch])
            for entry in batch:
                # Entries may have been dropped from the front since, because too many waited.
                if self._entries and self._entries[0] is entry:
                    self._entries.popleft()
        if self._used:
            token_ids = set(self._used)
            async with self._engine.begin() as connection:
                await store.note_use(connection, token_ids, USE_EVERY)
            self._used -= token_ids

    def _put(self, entry: AuditEntry) -> None:
        log.info(
            "audit", **{name: value for name, value in asdict(entry).items() if name != "at" and value is not None}
        )
        if len(self._entries) >= MOST_WAITING:
            self._entries.popleft()
            log.warning(
                "an audit entry was dropped because too many wait for the database; this log is its only record"
            )
        self._entries.append(entry)
        self._some.set()


def _left_out(entry: AuditEntry, count: int) -> AuditEntry:
    return AuditEntry(
        entry.at, "several", "anonymous", None, None, "several", "-", None, "-", entry.status,
        f"{count} refused requests before the next entry have no entries of their own",
    )  # fmt: skip
