"""The REST models of tokens and of the audit log."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from coordinator.access.roles import Role
from coordinator.access.tokens import MOST_TOKEN_DAYS, TOKEN_DAYS

TokenName = Annotated[str, StringConstraints(max_length=100, pattern=r"^[A-Za-z0-9][A-Za-z0-9._@+-]*$")]
"""The name of a person or a program. It appears in lists and logs, so it has no spaces and no control characters."""


class WhoAmI(BaseModel):
    """The caller as the coordinator identified it."""

    name: str
    role: Role | None
    kind: str
    """`token`, `session`, or `anonymous`."""
    token_id: int | None
    """Null without a token, and for the coordinator's own admin token."""
    expires_at: datetime | None


class BrowserSession(BaseModel):
    """A browser that signed in with a token or a link."""

    created_at: datetime
    expires_at: datetime


class SessionList(BaseModel):
    """The sessions of the caller's token, newest first."""

    sessions: list[BrowserSession]


class TokenRequest(BaseModel):
    """A request to create a token."""

    model_config = ConfigDict(extra="forbid")

    name: TokenName
    """The person or program that the token is for; several tokens may have the same name."""
    role: Role
    expires_in_days: int = Field(default=TOKEN_DAYS, ge=1, le=MOST_TOKEN_DAYS)


class Token(BaseModel):
    """A token without its secret."""

    id: int
    name: str
    role: Role
    prefix: str
    created_by: str
    created_at: datetime
    expires_at: datetime
    last_used_at: datetime | None
    """The time of the last use, accurate to a minute."""
    revoked_at: datetime | None
    revoked_by: str | None


class NewToken(Token):
    secret: str
    """The token itself. It is shown only once."""


class TokenList(BaseModel):
    tokens: list[Token]


class LoginLink(BaseModel):
    """A link that signs a browser in once."""

    path: str
    expires_at: datetime


class AuditRow(BaseModel):
    """One change, or one refused request."""

    id: int
    at: datetime
    who: str
    kind: str
    role: str | None
    token_id: int | None
    address: str
    method: str
    route: str | None
    path: str
    status: int
    detail: str | None

    @property
    def caller(self) -> str:
        """The caller's name for display. For a runner, which has no role, the text differs from that of a person with
        the same name."""
        description = "runner" if self.kind == "runner" else self.role
        return f"{self.who}, {description}" if description else self.who


class AuditPage(BaseModel):
    entries: list[AuditRow]
    next: int | None
    """Pass this as ``before`` to get the next page."""
