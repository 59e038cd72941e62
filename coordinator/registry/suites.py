"""Suites and their cases in the database: stored once under a revision, and never changed.

Runners serve one suite a revision, whole. Bundles, which may bring a part of it, have suites of their
own, so that no import ever adds to what is dispatched. All contents under one revision agree about
the cases that they share: that is what makes their cells comparable.

A transaction that stores a suite writes its rows, locks its revision and then looks for a disagreement,
so that of two at once the second sees the first. Targets and fingerprints come before that lock: an
import holds those that are new for as long as it takes.
"""

from __future__ import annotations

from typing import Literal

from sqlalchemy import delete, exists, insert, select, text, update
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from coordinator.database.tables import cases, jobs, suites
from coordinator.errors import BundleDisagreesError, RunnerIncompatibleError, SuiteChangedError
from coordinator.registry.revisions import (
    CaseContent,
    ChangedCase,
    Content,
    Difference,
    ambiguity,
    case_content,
    content_of,
    difference,
    digest,
)
from protocol.catalogue import Catalogue, CatalogueSuite

Origin = Literal["runner", "bundle"]


async def store_suites(connection: AsyncConnection, framework: str, catalogue: Catalogue) -> list[int]:
    """Store the suites of a runner's catalogue; return their ids. Raises a ``RunnerError``."""
    if (reason := ambiguity(catalogue)) is not None:
        raise RunnerIncompatibleError(f"the runner cannot be used: {reason}")
    # By their names, so that two transactions that store them do not wait for each other in a circle.
    ordered = sorted(catalogue.suites, key=lambda suite: suite.name)
    return [await store_suite(connection, framework, suite) for suite in ordered]


async def store_suite(connection: AsyncConnection, framework: str, suite: CatalogueSuite) -> int:
    """The id of the suite as runners serve it.

    Raises ``SuiteChangedError`` if its revision is stored with other content.
    """
    content = content_of(suite)
    hashed = digest(content)
    created = await _insert(connection, framework, suite, "runner", hashed)
    if created is not None:
        await _require_agreement_of_all(connection, created, framework, suite)
        return created
    served = select(suites.c.id, suites.c.digest).filter_by(**_key(framework, suite), origin="runner")
    stored = (await connection.execute(served)).one()
    if stored.digest != hashed:
        await _require_same(connection, stored.id, framework, suite, content)
    return int(stored.id)


async def store_bundled_suite(connection: AsyncConnection, framework: str, suite: CatalogueSuite) -> int:
    """The id of the suite of all bundles with exactly these cases."""
    hashed = digest(content_of(suite))
    created = await _insert(connection, framework, suite, "bundle", hashed)
    if created is not None:
        return created
    found = await connection.execute(
        select(suites.c.id).filter_by(**_key(framework, suite), origin="bundle", digest=hashed)
    )
    return int(found.scalar_one())


async def lock_revision(connection: AsyncConnection, framework: str, suite: CatalogueSuite) -> None:
    """Nobody else stores a suite of this revision until our transaction ends: take it last, it may be waited for."""
    lock = "SELECT pg_advisory_xact_lock(hashtextextended(:key, 0))"
    await connection.execute(text(lock), {"key": "\n".join(_key(framework, suite).values())})


async def require_agreement(connection: AsyncConnection, suite_id: int, framework: str, suite: CatalogueSuite) -> None:
    """Raise ``BundleDisagreesError`` if a case of the bundle's suite is another one elsewhere under its revision."""
    if found := await _disagreement(connection, suite_id, framework, suite):
        raise BundleDisagreesError(_complaint("the bundle's suite", framework, suite, found))


async def _require_agreement_of_all(
    connection: AsyncConnection, suite_id: int, framework: str, suite: CatalogueSuite
) -> None:
    await lock_revision(connection, framework, suite)
    if found := await _disagreement(connection, suite_id, framework, suite):
        raise SuiteChangedError(_complaint("this runner's suite", framework, suite, found))


async def _disagreement(
    connection: AsyncConnection, suite_id: int, framework: str, suite: CatalogueSuite
) -> Difference:
    """Cases of the suite with another function or ``host_only`` in another suite of this revision."""
    rows = await connection.execute(
        text("""
        SELECT DISTINCT ON (ours.position, ours.id) ours.name, ours.tags,
               ours.function, ours.host_only, theirs.function AS their_function, theirs.host_only AS their_host_only
          FROM suites other
          JOIN cases theirs ON theirs.suite_id = other.id
          JOIN cases ours ON ours.suite_id = :suite AND ours.name = theirs.name
         WHERE other.name = :name AND other.framework = :framework AND other.revision = :revision
           AND other.id <> :suite
           AND (theirs.function, theirs.host_only) IS DISTINCT FROM (ours.function, ours.host_only)
         ORDER BY ours.position, ours.id, other.id
        """),
        {"suite": suite_id, **_key(framework, suite)},
    )
    return Difference(
        changed=tuple(
            ChangedCase(
                row.name,
                case_content(row.their_function, row.their_host_only, row.tags),
                case_content(row.function, row.host_only, row.tags),
            )
            for row in rows
        )
    )


async def _require_same(
    connection: AsyncConnection, suite_id: int, framework: str, suite: CatalogueSuite, content: Content
) -> None:
    """Compare case by case, and keep the digest where there was none."""
    locked = await connection.execute(
        select(suites.c.digest).where(suites.c.id == suite_id).with_for_update(key_share=True)
    )
    known = locked.scalar_one()
    found = difference(await _content(connection, suite_id), content)
    if found and (known is not None or not await _complete(connection, suite_id, suite, found)):
        raise SuiteChangedError(_complaint("this runner's suite", framework, suite, found))
    if known is None:
        await _require_agreement_of_all(connection, suite_id, framework, suite)
        await connection.execute(update(suites).where(suites.c.id == suite_id).values(digest=digest(content)))


async def _complete(connection: AsyncConnection, suite_id: int, suite: CatalogueSuite, found: Difference) -> bool:
    """Whether a suite from before there were digests, to which a bundle may have added, can become the runner's.

    It can if no case of it is another one, and nothing ever ran that the runner does not have.
    """
    if found.changed:
        return False
    gone = await connection.execute(
        delete(cases).where(
            cases.c.suite_id == suite_id,
            cases.c.name.in_(found.removed),
            ~exists().where(jobs.c.case_id == cases.c.id),
        )
    )
    await _insert_cases(connection, suite_id, suite, frozenset(found.added))
    return gone.rowcount == len(found.removed)


async def _insert(
    connection: AsyncConnection, framework: str, suite: CatalogueSuite, origin: Origin, hashed: str
) -> int | None:
    """Insert the suite with its cases and return its id, or None if it is there; this waits for other writers."""
    created = await connection.execute(
        upsert(suites)
        .values(**_key(framework, suite), origin=origin, digest=hashed)
        .on_conflict_do_nothing()
        .returning(suites.c.id)
    )
    suite_id: int | None = created.scalar_one_or_none()
    if suite_id is not None:
        await _insert_cases(connection, suite_id, suite)
    return suite_id


async def _insert_cases(
    connection: AsyncConnection, suite_id: int, suite: CatalogueSuite, only: frozenset[str] | None = None
) -> None:
    rows = [
        {
            "suite_id": suite_id,
            "name": case.id,
            "function": case.function,
            "host_only": case.host_only,
            "tags": list(case.tags),
            "position": position,
        }
        for position, case in enumerate(suite.cases)
        if only is None or case.id in only
    ]
    if rows:
        await connection.execute(insert(cases), rows)


async def _content(connection: AsyncConnection, suite_id: int) -> dict[str, CaseContent]:
    rows = await connection.execute(
        select(cases.c.name, cases.c.function, cases.c.host_only, cases.c.tags)
        .where(cases.c.suite_id == suite_id)
        .order_by(cases.c.position, cases.c.id)
    )
    return {row.name: case_content(row.function, row.host_only, row.tags) for row in rows}


def _key(framework: str, suite: CatalogueSuite) -> dict[str, str]:
    return {"name": suite.name, "framework": framework, "revision": suite.revision}


def _complaint(whose: str, framework: str, suite: CatalogueSuite, found: Difference) -> str:
    return (
        f"{whose} '{suite.name}' of {framework} is another one than is stored under its revision {suite.revision}: "
        f"{found}; a revision keeps its cases, so give the changed suite another revision"
    )
