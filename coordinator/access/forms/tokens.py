"""CSRF tokens of forms, made from a browser's cookies with a key that only coordinators have. No I/O.

Pages on another port of this host share its cookies and can set them. So an attacker could plant a form cookie for
which the attacker has a valid token. That is why the token also depends on the session.
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


def token_of(key: bytes, cookie: str, session: str) -> str:
    """Return the token for a browser's forms. ``session`` is the secret of its session, empty without a session."""
    return hmac.digest(key, f"form\n{cookie}\n{session}".encode("utf-8", "surrogatepass"), "sha256").hex()


def belongs(key: bytes, cookie: str | None, session: str, token: object) -> bool:
    """Whether the form comes from a page that this browser received in its current session."""
    if cookie is None or not is_cookie(cookie) or not isinstance(token, str):
        return False
    return hmac.compare_digest(token_of(key, cookie, session).encode(), token.encode("utf-8", "surrogatepass"))
