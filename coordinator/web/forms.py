"""Makes and checks the CSRF tokens of forms that change something. No other module checks the tokens."""

from __future__ import annotations

from dataclasses import dataclass

from fastapi import Request, Response
from markupsafe import Markup

from coordinator.access.forms import tokens
from coordinator.access.middleware import session_secret
from coordinator.access.requests import SAFE
from coordinator.errors import ForgedFormError
from coordinator.http.context import Context

COOKIE = "portolan_form"
FIELD = "form_token"


@dataclass
class FormProtection:
    """The key and the cookie from which the tokens of a page's forms are made."""

    key: bytes
    cookie: str | None
    session: str
    is_new: bool = False

    def token(self) -> str:
        if self.cookie is None:
            self.cookie, self.is_new = tokens.new_cookie(), True
        return tokens.token_of(self.key, self.cookie, self.session)


async def protect(request: Request, context: Context) -> None:
    """Refuse a form without a valid CSRF token. Every page depends on this."""
    key = await context.form_key.get()
    cookie = request.cookies.get(COOKIE)
    session = session_secret(request) or ""
    request.state.forms = FormProtection(key, cookie if tokens.is_cookie(cookie) else None, session)
    if request.method not in SAFE and not tokens.belongs(key, cookie, session, (await request.form()).get(FIELD)):
        raise ForgedFormError


def form_token(request: Request) -> Markup:
    """The hidden field with the CSRF token. Every form that changes something must contain it."""
    protection: FormProtection = request.state.forms
    return Markup('<input type="hidden" name="{}" value="{}">').format(FIELD, protection.token())


def keep_cookie(request: Request, response: Response) -> None:
    """Set the cookie with which the page's forms were made, unless the browser already has it."""
    protection: FormProtection | None = getattr(request.state, "forms", None)
    if protection is not None and protection.is_new and protection.cookie is not None:
        response.set_cookie(
            COOKIE, protection.cookie, httponly=True, samesite="strict", secure=request.url.scheme == "https"
        )
