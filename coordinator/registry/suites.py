"""Suites and their cases in the database. They are stored once for each revision, and never changed.

The timing of a suite does not affect results, so it is not part of the revision. The timing that a runner declared last
is stored. A runner serves whole suites, one per revision. A bundle may contain only a part of a suite. So bundles have
their own suites, and an import never adds cases that are dispatched.

All contents of one revision must agree about the cases that they share, so that their cells can be compared. A
transaction that stores a suite writes its rows, locks the revision, and then searches for disagreements, so that the
second of two concurrent transactions sees the rows of the first. Targets and fingerprints are stored before this lock,
because an import locks new ones until it ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence, Set
from typing import Any, Literal

from sqlalchemy import select, text, update
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from coordinator.database.tables import JUDGE_BY_TAG, cases, suites
from coordinator.database.values import to_json
from coordinator.errors import BundleDisagreesError, RunnerIncompatibleError, SuiteChangedError
from coordinator.registry.revisions import (
    CaseContent,
    ChangedCase,
    Content,
    SuiteDifference,
    case_content,
    content_of,
    difference,
    digest,
)
from protocol.catalogue import Catalogue, CatalogueCase, CatalogueSuite, ambiguity, representatives
from protocol.enums import WRONG_ON_HOST

Origin = Literal["runner", "bundle"]
CASES_AT_ONCE = 2_000
"""The number of cases per statement. The event loop runs between two statements."""

_STORE_CASES = text("""
INSERT INTO cases (suite_id, name, function, host_only, tags, position, digest, representative, options)
SELECT :suite, name, function, host_only, CAST(tags AS jsonb), :start + number - 1, digest, timed,
       CAST(options AS jsonb)
  FROM unnest(CAST(:names AS text[]), CAST(:functions AS text[]), CAST(:host_only AS text[]), CAST(:tags AS text[]),
              CAST(:digests AS text[]), CAST(:timed AS boolean[]), CAST(:options AS text[]))
       WITH ORDINALITY AS given (name, function, host_only, tags, digest, timed, options, number)
""")


async def store_suites(connection: AsyncConnection, framework: str, catalogue: Catalogue) -> list[int]:
    """Store the suites of a runner's catalogue and return their ids. Raises an ``UnusableRunnerError``."""
    if (reason := await asyncio.to_thread(ambiguity, catalogue)) is not None:
        raise RunnerIncompatibleError(f"the runner cannot be used: {reason}")
    # Suites are stored in the order of names, so that two transactions that store suites do not deadlock.
    by_name = sorted(catalogue.suites, key=lambda suite: suite.name)
    return [await store_suite(connection, framework, suite) for suite in by_name]


async def store_suite(connection: AsyncConnection, framework: str, suite: CatalogueSuite) -> int:
    """Store a suite that runners serve, and return its id. Raises ``SuiteChangedError`` if its revision is stored with
    other content."""
    content, content_digest = await _content_and_digest(suite)
    new_id = await _insert(connection, framework, suite, "runner", content_digest)
    if new_id is not None:
        await lock_revision(connection, framework, suite)
        if disagreement := await _disagreement(connection, new_id, framework, suite):
            raise SuiteChangedError(_complaint("this runner's suite", framework, suite, disagreement))
        return new_id
    result = await connection.execute(
        select(suites.c.id, suites.c.digest).filter_by(**_key(framework, suite), origin="runner")
    )
    row = result.one()
    if row.digest != content_digest:
        disagreement = await asyncio.to_thread(difference, await _content(connection, row.id), content)
        raise SuiteChangedError(_complaint("this runner's suite", framework, suite, disagreement))
    await _store_timing(connection, row.id, suite)
    return int(row.id)


async def store_bundled_suite(connection: AsyncConnection, framework: str, suite: CatalogueSuite) -> int:
    """Store a suite that came with a bundle, and return its id. If a suite of a bundle with the same content is stored,
    return that suite's id."""
    _, content_digest = await _content_and_digest(suite)
    new_id = await _insert(connection, framework, suite, "bundle", content_digest)
    if new_id is not None:
        return new_id
    result = await connection.execute(
        select(suites.c.id).filter_by(**_key(framework, suite), origin="bundle", digest=content_digest)
    )
    return int(result.scalar_one())


async def _store_timing(connection: AsyncConnection, suite_id: int, suite: CatalogueSuite) -> None:
    """Store the timing that the runner declares for the suite. If the runner declares none, nothing changes."""
    for column, value in _timing(suite).items():
        if value is not None:
            await connection.execute(
                update(suites)
                .where(suites.c.id == suite_id, suites.c[column].is_distinct_from(value))
                .values({column: value})
            )


async def lock_revision(connection: AsyncConnection, framework: str, suite: CatalogueSuite) -> None:
    """Lock the revision until the transaction ends. This lock must be taken last, because other transactions may wait
    for it."""
    lock = "SELECT pg_advisory_xact_lock(hashtextextended(:key, 0))"
    await connection.execute(text(lock), {"key": "\n".join(_key(framework, suite).values())})


async def require_agreement(connection: AsyncConnection, suite_id: int, framework: str, suite: CatalogueSuite) -> None:
    """Raise ``BundleDisagreesError`` if a case of the bundle's suite differs from a stored case of the same
    revision."""
    if disagreement := await _disagreement(connection, suite_id, framework, suite):
        raise BundleDisagreesError(_complaint("the bundle's suite", framework, suite, disagreement))


async def _disagreement(
    connection: AsyncConnection, suite_id: int, framework: str, suite: CatalogueSuite
) -> SuiteDifference:
    """Return the cases that differ from another suite of this revision. Differences in tags do not count."""
    rows = await connection.execute(
        text("""
        SELECT DISTINCT ON (ours.position, ours.id) ours.name, ours.tags,
               ours.function, ours.host_only, ours.digest,
               theirs.function AS their_function, theirs.host_only AS their_host_only, theirs.digest AS their_digest
          FROM suites other
          JOIN cases theirs ON theirs.suite_id = other.id
          JOIN cases ours ON ours.suite_id = :suite AND ours.name = theirs.name
         WHERE other.name = :name AND other.framework = :framework AND other.revision = :revision
           AND other.id <> :suite
           AND ((theirs.function, theirs.host_only) IS DISTINCT FROM (ours.function, ours.host_only)
                OR theirs.digest <> ours.digest)
         ORDER BY ours.position, ours.id, other.id
        """),
        {"suite": suite_id, **_key(framework, suite)},
    )
    return SuiteDifference(
        changed=tuple(
            ChangedCase(
                row.name,
                case_content(row.their_function, row.their_host_only, row.tags, row.their_digest),
                case_content(row.function, row.host_only, row.tags, row.digest),
            )
            for row in rows
        )
    )


async def _insert(
    connection: AsyncConnection, framework: str, suite: CatalogueSuite, origin: Origin, digest: str
) -> int | None:
    """Insert the suite with its cases and return its id; None if the suite already exists. Waits for concurrent
    writers."""
    drawn_counts = await asyncio.to_thread(_drawn_counts, suite.cases)
    result = await connection.execute(
        upsert(suites)
        .values(**_key(framework, suite), origin=origin, digest=digest, **drawn_counts, **_timing(suite))
        .on_conflict_do_nothing()
        .returning(suites.c.id)
    )
    suite_id: int | None = result.scalar_one_or_none()
    if suite_id is not None and suite.cases:
        timed_ids = await asyncio.to_thread(representatives, suite.cases)
        for start in range(0, len(suite.cases), CASES_AT_ONCE):
            await connection.execute(_STORE_CASES, _columns(suite_id, suite.cases, start, timed_ids))
    return suite_id


def _drawn_counts(cases: Sequence[CatalogueCase]) -> dict[str, int]:
    """Return the counts of generated cases. They exist only for generated suites, which name the reference of their
    cases. In other suites, the reason for a case is unknown."""
    return {
        "drawn_cases": sum(not JUDGE_BY_TAG.keys().isdisjoint(case.tags) for case in cases),
        "wrong_on_host": sum(WRONG_ON_HOST in case.tags for case in cases),
    }


def _options(case: CatalogueCase) -> str | None:
    """Return the case's options as offered. Options that the runner omits have default values."""
    return None if case.options is None else to_json(case.options.model_dump(mode="json", exclude_unset=True))


def _columns(suite_id: int, cases: Sequence[CatalogueCase], start: int, timed_ids: Set[str]) -> dict[str, Any]:
    part = cases[start : start + CASES_AT_ONCE]
    return {
        "suite": suite_id,
        "start": start,
        "names": [case.id for case in part],
        "functions": [case.function for case in part],
        "host_only": [case.host_only for case in part],
        "tags": [to_json(case.tags) for case in part],
        "digests": [case.digest for case in part],
        "timed": [case.id in timed_ids for case in part],
        "options": list(map(_options, part)),
    }


async def _content_and_digest(suite: CatalogueSuite) -> tuple[Content, str]:
    """Return the suite's content and its digest, computed outside of the event loop, because a suite may have very many
    cases."""

    def work() -> tuple[Content, str]:
        content = content_of(suite)
        return content, digest(content)

    return await asyncio.to_thread(work)


async def _content(connection: AsyncConnection, suite_id: int) -> dict[str, CaseContent]:
    rows = await connection.execute(
        select(cases.c.name, cases.c.function, cases.c.host_only, cases.c.tags, cases.c.digest)
        .where(cases.c.suite_id == suite_id)
        .order_by(cases.c.position, cases.c.id)
    )
    return {row.name: case_content(row.function, row.host_only, row.tags, row.digest) for row in rows}


def _key(framework: str, suite: CatalogueSuite) -> dict[str, str]:
    return {"name": suite.name, "framework": framework, "revision": suite.revision}


def _timing(suite: CatalogueSuite) -> dict[str, str | None]:
    return {"timing": suite.timing, "timed_cases": suite.timed_cases}


def _complaint(whose: str, framework: str, suite: CatalogueSuite, disagreement: SuiteDifference) -> str:
    return (
        f"{whose} '{suite.name}' of {framework} differs from the suite stored under its revision {suite.revision}: "
        f"{disagreement}. Give the changed suite a new revision. If the stored suite is wrong, delete it "
        "(`portolan delete suite` shows the stored suites and what uses them)"
    )
