"""Options of the commands that start a coordinator, for the role of callers without a token."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from coordinator.configuration.settings import AnonymousRole, anonymous_role
from coordinator.configuration.variables import variables
from coordinator.errors import SettingError
from coordinator.runner_requests.addresses import is_loopback

Anonymous = Annotated[
    str | None,
    typer.Option(
        metavar="none|viewer",
        help="Role of callers without a token; default: $PORTOLAN_ANONYMOUS_ROLE if set, otherwise viewer for "
        "`portolan up` on loopback and none for all other coordinators.",
    ),
]
WithoutAccessControl = Annotated[
    bool,
    typer.Option(
        "--without-access-control", help="Require no token. Everybody who can reach the coordinator may do everything."
    ),
]


def role_of_nobody(host: str | None, option: str | None, *, without_access_control: bool) -> AnonymousRole | None:
    """Return the role of callers without a token. ``host`` is the address that callers use for the coordinator; None if
    they can use any address."""
    if without_access_control:
        if option is not None:
            raise SettingError("--anonymous and --without-access-control cannot be combined: give one of them")
        print(
            "access control is off: anyone who can reach this coordinator may do everything",
            file=sys.stderr,
            flush=True,
        )
        return "admin"
    if option is None and variables().anonymous_role is None and host is not None and is_loopback(host):
        return "viewer"
    return anonymous_role(option)
