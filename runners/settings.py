"""The environment variables of a runner and of its command line.

No other module of the supervisor's process reads variables. The processes of cases run in other interpreters, and read
only what the supervisor passes to them. When an environment is built, uv receives all variables, with the additions of
``cli/indexes.py``.
"""

from __future__ import annotations

import os
from pathlib import Path

# Not pydantic-settings: a runner's image has pydantic for its messages, and would need the other package only for this.
from pydantic import BaseModel, ConfigDict, Field

from protocol.events import HEARTBEAT_S
from runners.errors import UsageError

SECRET = "PORTOLAN_RUNNER_SECRET"
HEARTBEAT = "PORTOLAN_HEARTBEAT_S"
SHORTEST_HEARTBEAT_S = 0.05
LONGEST_HEARTBEAT_S = 10.0
"""The maximum interval between heartbeats that the runner API allows."""


class RunnerVariables(BaseModel):
    """The values of the variables. An empty variable counts as unset, except for the secret."""

    model_config = ConfigDict(frozen=True)

    # An empty secret is refused. Otherwise a new secret would be made that nobody knows.
    secret: str | None = Field(default=None, validation_alias=SECRET)
    # Checked later, because a command that serves nothing must not fail because of it.
    heartbeat_s: str = Field(default="", validation_alias=HEARTBEAT)
    image: str = Field(default="", validation_alias="PORTOLAN_IMAGE")
    cache: str = Field(default="", validation_alias="PORTOLAN_CACHE")
    system_cache: str = Field(default="", validation_alias="XDG_CACHE_HOME")


def variables() -> RunnerVariables:
    """Read the current values of the variables. docs/reference/settings.md describes the variables."""
    return RunnerVariables.model_validate(inherited_variables())


def heartbeat_s() -> float:
    """Return the interval between heartbeats in seconds. Raises ``UsageError`` if the variable is invalid."""
    text = variables().heartbeat_s
    try:
        seconds = float(text or HEARTBEAT_S)
    except ValueError:
        seconds = 0.0
    if not SHORTEST_HEARTBEAT_S <= seconds <= LONGEST_HEARTBEAT_S:
        bounds = f"{SHORTEST_HEARTBEAT_S:g} to {LONGEST_HEARTBEAT_S:g}"
        raise UsageError(f"{HEARTBEAT} is {text[:100]!r}: give seconds from {bounds}")
    return seconds


def inherited_variables() -> dict[str, str]:
    """Return a copy of all environment variables, for another process."""
    return dict(os.environ)


def cache() -> Path:
    """Return the folder for cached files."""
    values = variables()
    return Path(values.cache or values.system_cache or "~/.cache").expanduser().absolute()
