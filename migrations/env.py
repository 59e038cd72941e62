"""How Alembic reaches the database: on the caller's connection, or on PORTOLAN_DATABASE_URL."""

import asyncio

from alembic import context
from sqlalchemy import Connection

from coordinator.configuration.settings import Settings
from coordinator.database import grants, schema_digest
from coordinator.database.connection import engine
from coordinator.database.tables import metadata
from coordinator.database.views import define


def migrate(connection: Connection) -> None:
    context.configure(connection, target_metadata=metadata, compare_server_default=True)
    with context.begin_transaction():
        context.run_migrations()
        found = context.get_context().get_current_revision()
        if found is not None and found == context.get_head_revision():
            schema_digest.keep(connection, schema_digest.digest_of(context.script, found))
            define(connection)
            grants.apply(connection)


async def migrate_by_settings() -> None:
    pool = engine(Settings.from_environment().database_url, pool_size=1, application_name="alembic")
    try:
        async with pool.begin() as connection:
            await connection.run_sync(migrate)
    finally:
        await pool.dispose()


given = context.config.attributes.get("connection")
if given is not None:
    migrate(given)
else:
    asyncio.run(migrate_by_settings())
