"""All values that a runner may send can be stored, and notifications arrive after any of them."""

from __future__ import annotations

import asyncio
import json
import math
from typing import Any

import asyncpg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from coordinator.database.connection import allow_long_statements, engine
from coordinator.database.notifications import Notice, listening
from coordinator.database.times import DatabaseTimes
from coordinator.database.values import jsonable, to_json
from coordinator.text.plain_text import plain_text

any_text = st.text(st.characters(exclude_categories=()))
any_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | any_text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(any_text, inner, max_size=4),
    max_leaves=12,
)


@given(any_json)
def test_json_is_always_valid_and_says_the_same_by_either_path(value: Any) -> None:
    read = json.loads(to_json(value), parse_constant=pytest.fail)
    assert read == jsonable(value)
    assert jsonable(read) == read


@given(any_text)
def test_plain_text_changes_only_what_cannot_be_stored(value: str) -> None:
    plain = plain_text(value)
    assert len(plain) == len(value)
    plain.encode()
    replaced_characters = {old for old, new in zip(value, plain, strict=True) if old != new}
    assert all(
        replaced_character == "\0" or "\ud800" <= replaced_character <= "\udfff"
        for replaced_character in replaced_characters
    )
    assert "\0" not in plain


@pytest.mark.parametrize(
    ("value", "stored_value"),
    [
        (math.nan, "NaN"),
        ([-math.inf, {"a": math.inf}], ["-Infinity", {"a": "Infinity"}]),
        ({"ke\0y": "a\0b\ud800"}, {"ke�y": "a�b�"}),
        ("🧭", "🧭"),
        ((1, {2: None}), [1, {"2": None}]),
        pytest.param(10**5000, hex(10**5000), id="long"),
        (b"bytes", "b'bytes'"),
    ],
)
async def test_what_jsonb_would_refuse_is_stored(postgres: str, value: Any, stored_value: Any) -> None:
    from sqlalchemy import bindparam
    from sqlalchemy.dialects.postgresql import JSONB

    pool = engine(postgres, pool_size=1)
    async with pool.connect() as connection:
        query = text("select cast(:value as jsonb) as value").bindparams(bindparam("value", type_=JSONB))
        assert (await connection.execute(query.columns(value=JSONB), {"value": value})).scalar_one() == stored_value
    await pool.dispose()


def nest(depth: int) -> Any:
    value: Any = []
    for _ in range(depth):
        value = [value]
    return value


def test_deep_nesting_is_cut() -> None:
    assert to_json(nest(100_000)).count("[") < 300


async def test_a_statement_that_takes_too_long_is_stopped(postgres: str) -> None:
    pool = engine(postgres, pool_size=1, statement_timeout_s=0.05)
    async with pool.connect() as connection:
        with pytest.raises(Exception, match="statement timeout"):
            await connection.execute(text("select pg_sleep(60)"))
    await pool.dispose()


async def test_connections_that_the_server_closed_are_replaced(postgres: str) -> None:
    pool = engine(postgres, pool_size=1, application_name="closed on")
    async with pool.connect() as connection:
        await connection.execute(text("select 1"))
    other = await asyncpg.connect(postgres)
    end_session = "select pg_terminate_backend(pid, 5000) from pg_stat_activity where application_name = 'closed on'"
    assert await other.fetchval(end_session)
    await other.close()
    async with pool.connect() as connection:
        assert (await connection.execute(text("select 2"))).scalar_one() == 2
    await pool.dispose()


async def test_notices_arrive_and_equal_ones_count_once(postgres: str) -> None:
    sender = await asyncpg.connect(postgres)
    async with listening(postgres, "jobs", "campaigns") as notices:
        assert await notices.take(0.01) == []
        async with sender.transaction():
            await sender.execute("select pg_notify('jobs', '7'), pg_notify('campaigns', '1')")
        notice_batch = await notices.take(60)
        assert notice_batch[0] == Notice("jobs", "7")
        await sender.execute("notify jobs, '8'")
        async with asyncio.timeout(60):
            async for notice in notices:
                if notice == Notice("jobs", "8"):
                    break
    await sender.close()


async def test_listening_survives_a_broken_connection(postgres: str) -> None:
    sender = await asyncpg.connect(postgres)
    listener = "from pg_stat_activity where application_name = 'portolan listening' and datname = current_database()"
    async with listening(postgres, "jobs") as notices:
        for round_ in range(2):
            assert await sender.fetchval(f"select count(pg_terminate_backend(pid, 5000)) {listener}") == 1
            # Without a payload: something may have been missed, look again.
            assert await notices.take(60) == [Notice("jobs", "")]
            await sender.execute(f"notify jobs, '{round_}'")
            assert await notices.take(60) == [Notice("jobs", str(round_))]
    await sender.close()


async def test_a_long_statement_may_be_allowed_for_one_transaction(
    postgres: str,
) -> None:
    pool = engine(postgres, pool_size=1, statement_timeout_s=0.3, times=DatabaseTimes(answer_margin_s=0.2))
    nap = text("SELECT pg_sleep(1)")
    try:
        async with pool.begin() as connection:
            await allow_long_statements(connection)
            await connection.execute(nap)
        async with pool.connect() as connection:
            with pytest.raises((DBAPIError, TimeoutError)):
                await connection.execute(nap)
    finally:
        await pool.dispose()


async def test_a_transaction_may_be_idle_no_longer_than_a_statement_and_its_answer_take(postgres: str) -> None:
    pool = engine(postgres, pool_size=1, statement_timeout_s=2.0)
    try:
        async with pool.connect() as connection:
            answer = await connection.execute(text("SHOW idle_in_transaction_session_timeout"))
            assert answer.scalar_one() == f"{2 + DatabaseTimes().answer_margin_s:.0f}s"
    finally:
        await pool.dispose()


async def test_statements_are_not_compiled_whatever_the_server_has(database: str) -> None:
    owner = await asyncpg.connect(database)
    name = await owner.fetchval("SELECT current_database()")
    await owner.execute(f"ALTER DATABASE {name} SET jit = on")
    await owner.close()
    pool = engine(database, pool_size=1)
    try:
        async with pool.connect() as connection:
            assert (await connection.execute(text("SHOW jit"))).scalar_one() == "off"
    finally:
        await pool.dispose()
