"""The bearer secret of the runner API, and the new secret of an enrolled runner."""

from __future__ import annotations

import asyncio
import hmac
import secrets
from collections.abc import Callable


class Access:
    """Decides whether a request's secret is accepted.

    During enrollment, the runner accepts its own secret and the provisional secret of its latest enrollment request.
    The coordinator responds with a new secret, which becomes the runner's own. The first request with the new secret
    shows that the coordinator has stored it. From then on, only the new secret is accepted.
    """

    def __init__(self, secret: str) -> None:
        if not secret:
            raise ValueError("the secret is empty; give one, or omit it to generate one")
        self._own = secret
        self._provisional: str | None = None
        self._adopted = False
        self._on_secret: Callable[[str], object] = lambda secret: None
        self.confirmed = asyncio.Event()
        """Set when a request with the coordinator's new secret has arrived."""

    def tell_secrets(self, on_secret: Callable[[str], object]) -> None:
        """Call ``on_secret`` with every accepted secret, now and whenever another secret is accepted."""
        self._on_secret = on_secret
        for secret in filter(None, (self._own, self._provisional)):
            on_secret(secret)

    def propose(self) -> str:
        """Make a new provisional secret, which replaces the previous provisional secret. So a coordinator that handles
        an earlier enrollment request late can no longer connect with that request's secret."""
        self._provisional = secrets.token_urlsafe(24)
        self._on_secret(self._provisional)
        return self._provisional

    def adopt(self, secret: str) -> None:
        self._own, self._adopted = secret, True
        self._on_secret(secret)

    def opens(self, authorization: bytes) -> bool:
        """Whether a request with this ``Authorization`` header is accepted."""
        # The comparison takes constant time, so that it does not help to guess the secret.
        if hmac.compare_digest(authorization, _bearer(self._own)):
            if self._adopted and not self.confirmed.is_set():
                self._provisional = None
                self.confirmed.set()
            return True
        return self._provisional is not None and hmac.compare_digest(authorization, _bearer(self._provisional))


def _bearer(secret: str) -> bytes:
    return b"Bearer " + secret.encode()
