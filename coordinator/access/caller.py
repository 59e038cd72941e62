"""The caller of a request, and the role that a route needs.

``AccessMiddleware`` stores the caller on each request. A route declares the role that it needs with ``needs``.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from typing import Annotated, Any, Literal

from fastapi import Depends, Request

from coordinator.access.roles import Role
from coordinator.errors import RoleMissingError, TokenEndedError, UnauthorizedError
from coordinator.http.context import Context

CallerKind = Literal["token", "session", "anonymous", "runner"]

SIGN_IN = (
    "this request needs a token: store one with `portolan login URL`, set $PORTOLAN_TOKEN or $PORTOLAN_TOKEN_FILE, "
    "or sign in at /login in a browser"
)


@dataclass(frozen=True, slots=True)
class Caller:
    """The sender of a request and its role. Without a role it may only sign in."""

    name: str
    role: Role | None
    kind: CallerKind
    token_id: int | None = None
    """The id of the token's row; None for callers without a token, and for the coordinator's own admin token."""
    token_sha256: bytes | None = field(default=None, repr=False)
    expires_at: datetime | None = None

    @property
    def is_known(self) -> bool:
        return self.kind != "anonymous"

    @property
    def may_change(self) -> bool:
        """Whether the caller may send requests that change something. The role decides which ones."""
        return self.is_known or self.role is Role.admin

    def may(self, role: Role) -> bool:
        return self.role is not None and self.role.includes(role)

    def require(self, role: Role) -> None:
        """Raise ``UnauthorizedError`` if signing in may help, otherwise ``RoleMissingError``."""
        if self.may(role):
            return
        if not self.is_known:
            raise UnauthorizedError(SIGN_IN)
        raise RoleMissingError(
            f"this request needs the role {role}, but {self.name} has the role {self.role}: "
            "ask an admin for a token with that role"
        )


NOBODY = Caller("anonymous", None, "anonymous")


def bearer_of(error: UnauthorizedError) -> Caller:
    """The caller of a request whose token was refused. If the token has ended, the caller is the token's owner, without
    a role. Otherwise the caller is anonymous."""
    if isinstance(error, TokenEndedError):
        return Caller(error.name, None, "token", error.token_id)
    return NOBODY


def caller_of(request: Request) -> Caller:
    """The caller of a request. It is anonymous if the request failed before the caller was identified."""
    caller: Caller = getattr(request.state, "caller", NOBODY)
    return caller


async def _caller(request: Request) -> Caller:
    return caller_of(request)


CurrentCaller = Annotated[Caller, Depends(_caller)]

_ROLES: dict[Callable[..., Any], Role] = {}


@cache
def _requirement(role: Role) -> Callable[[Request], Awaitable[None]]:
    async def require(request: Request) -> None:
        caller_of(request).require(role)

    _ROLES[require] = role
    return require


def needs(role: Role) -> Any:
    """Make a FastAPI dependency that requires callers of a route to have at least this role."""
    return Depends(_requirement(role))


def role_of(dependency: Callable[..., Any] | None) -> Role | None:
    """The role that a dependency made by ``needs`` requires; None for other dependencies."""
    return None if dependency is None else _ROLES.get(dependency)


async def _room(context: Context, caller: CurrentCaller) -> AsyncIterator[None]:
    async with context.downloads.hold(caller.name):
        yield


ROOM_FOR_DOWNLOAD = Depends(_room)
"""A dependency for routes that respond with a large file."""
