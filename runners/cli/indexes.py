"""Package indexes: the environment variables for uv, and whether a package's hash may differ from the lock.

Standard library only, because ``make setup`` reads this before anything is installed.
"""

from __future__ import annotations

from collections.abc import Mapping

ANY_BUILD_VARIABLE = "PORTOLAN_ANY_BUILD"


def any_build(variables: Mapping[str, str]) -> bool:
    """Whether a package may be another build of its locked version, for example from another index."""
    return variables.get(ANY_BUILD_VARIABLE, "") not in ("", "0")


def index_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment variables for uv. Variables of pip are used unless uv's own are set."""
    variables = dict(environment)
    for ours, theirs in (
        ("UV_DEFAULT_INDEX", "PIP_INDEX_URL"),
        ("UV_INDEX", "PIP_EXTRA_INDEX_URL"),
        ("UV_FIND_LINKS", "PIP_FIND_LINKS"),
        ("SSL_CERT_FILE", "PIP_CERT"),
    ):
        if theirs in environment and not any(name in environment for name in (ours, f"{ours}_URL")):
            variables[ours] = environment[theirs]
    # Compile the packages once here. Otherwise every start of every runner compiles them.
    for name in ("PYTHONDONTWRITEBYTECODE", "PYTHONPATH", "VIRTUAL_ENV"):
        variables.pop(name, None)
    variables["UV_COMPILE_BYTECODE_TIMEOUT"] = variables.get("UV_COMPILE_BYTECODE_TIMEOUT", "300")
    return variables
