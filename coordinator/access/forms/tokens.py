"""Tokens of forms: each is made from a browser's cookie with a key that only coordinators have. Pure.

Pages of another port of this host share its cookies, so a cookie alone proves nothing.
"""

from __future__ import annotations

import hmac
import re
from secrets import token_urlsafe

COOKIE_BYTES = 24
COOKIE = re.compile(r"[A-Za-z0-9_-]{32}")


def new_cookie() -> str:
    return token_urlsafe(COOKIE_BYTES)


def is_cookie(value: str | None) -> bool:
    return value is not None and COOKIE.fullmatch(value) is not None


def token_of(key: bytes, cookie: str) -> str:
    """Return the token of this browser's forms."""
    return hmac.digest(key, b"form\n" + cookie.encode(), "sha256").hex()


def belongs(key: bytes, cookie: str | None, token: object) -> bool:
    """Whether the form is of a page that this browser was given."""
    if cookie is None or not is_cookie(cookie) or not isinstance(token, str):
        return False
    return hmac.compare_digest(token_of(key, cookie).encode(), token.encode("utf-8", "surrogatepass"))
