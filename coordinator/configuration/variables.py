"""Reads the environment variables of the coordinator and of its command line.

No other module of the coordinator reads variables. Child processes inherit the whole environment.
"""

from __future__ import annotations

import os
from pathlib import Path

# Not pydantic-settings: it imports asyncio and five sources of settings, which would slow down every command.
from pydantic import AliasChoices, BaseModel, ConfigDict, Field

CHECK_TIMES = "PORTOLAN_CHECK_TIMES"
LIMITS = "PORTOLAN_LIMITS"
RUNNER_NETWORKS = "PORTOLAN_RUNNER_NETWORKS"
STATEMENT_TIMEOUT = "PORTOLAN_STATEMENT_TIMEOUT_S"
TIMES = "PORTOLAN_TIMES"


class Variables(BaseModel):
    """The values of the variables. An empty variable counts as unset. docs/reference/settings.md describes the
    variables."""

    model_config = ConfigDict(frozen=True)

    data: Path | None = Field(default=None, validation_alias="PORTOLAN_DATA")
    url: str | None = Field(default=None, validation_alias="PORTOLAN_URL")
    runner_secret: str = Field(default="", validation_alias="PORTOLAN_RUNNER_SECRET")
    enrolment_key_file: Path | None = Field(default=None, validation_alias="PORTOLAN_ENROLMENT_KEY_FILE")
    admin_token_file: Path | None = Field(default=None, validation_alias="PORTOLAN_ADMIN_TOKEN_FILE")
    anonymous_role: str | None = Field(default=None, validation_alias="PORTOLAN_ANONYMOUS_ROLE")
    token: str | None = Field(default=None, validation_alias="PORTOLAN_TOKEN")
    token_file: Path | None = Field(default=None, validation_alias="PORTOLAN_TOKEN_FILE")
    secrets: Path = Field(default=Path("secrets"), validation_alias="PORTOLAN_SECRETS")
    port: str | None = Field(default=None, validation_alias="PORTOLAN_PORT")
    config: Path | None = Field(default=None, validation_alias="XDG_CONFIG_HOME")
    database_url: str | None = Field(default=None, validation_alias="PORTOLAN_DATABASE_URL")
    database_password_file: str | None = Field(default=None, validation_alias="PORTOLAN_DATABASE_PASSWORD_FILE")
    # Checked later, because a command that needs neither must not fail if one of them is invalid.
    statement_timeout_s: str | None = Field(default=None, validation_alias=STATEMENT_TIMEOUT)
    hosts: str = Field(default="", validation_alias="PORTOLAN_HOSTS")
    proxies: str = Field(default="", validation_alias="PORTOLAN_PROXIES")
    log_format: str | None = Field(default=None, validation_alias="PORTOLAN_LOG_FORMAT")
    limits: str = Field(default="", validation_alias=LIMITS)
    times: str = Field(default="", validation_alias=TIMES)
    check_times: str = Field(default="", validation_alias=CHECK_TIMES)
    rest_address: str | None = Field(default=None, validation_alias="PORTOLAN_REST_ADDRESS")
    runner_networks: str = Field(default="loopback", validation_alias=RUNNER_NETWORKS)
    cache: Path | None = Field(default=None, validation_alias=AliasChoices("PORTOLAN_CACHE", "XDG_CACHE_HOME"))
    system_data: Path | None = Field(default=None, validation_alias="XDG_DATA_HOME")
    virtual_env: Path | None = Field(default=None, validation_alias="VIRTUAL_ENV")
    path: str = Field(default=os.defpath, validation_alias="PATH")


def variables() -> Variables:
    """Read the current values of the variables."""
    return Variables.model_validate({name: value for name, value in os.environ.items() if value})
