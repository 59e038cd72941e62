"""The secret that opens the runner API, and the one of its own that an enrolled runner gets."""

from __future__ import annotations

import asyncio
import hmac
import secrets
from collections.abc import Callable


class Access:
    """Opened by one secret; while the runner enrols, by the provisional one of its last request too.

    The first request with an adopted secret shows that the coordinator has it: from then on
    it alone opens.
    """

    def __init__(self, secret: str) -> None:
        if not secret:
            raise ValueError("the secret is empty; give one, or none to have one made")
        self._own = secret
        self._provisional: str | None = None
        self._adopted = False
        self._on_secret: Callable[[str], object] = lambda secret: None
        self.confirmed = asyncio.Event()
        """A request has come with the adopted secret."""

    def tell_secrets(self, on_secret: Callable[[str], object]) -> None:
        """Call ``on_secret`` with every secret that opens, now and later."""
        self._on_secret = on_secret
        for secret in filter(None, (self._own, self._provisional)):
            on_secret(secret)

    def propose(self) -> str:
        """A new provisional secret in place of the last: a request that is late can no longer be probed."""
        self._provisional = secrets.token_urlsafe(24)
        self._on_secret(self._provisional)
        return self._provisional

    def adopt(self, secret: str) -> None:
        self._own, self._adopted = secret, True
        self._on_secret(secret)

    def opens(self, authorization: bytes) -> bool:
        """Whether this header lets a request in."""
        if hmac.compare_digest(authorization, _bearer(self._own)):
            if self._adopted and not self.confirmed.is_set():
                self._provisional = None
                self.confirmed.set()
            return True
        return self._provisional is not None and hmac.compare_digest(authorization, _bearer(self._provisional))


def _bearer(secret: str) -> bytes:
    return b"Bearer " + secret.encode()
