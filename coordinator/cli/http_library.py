"""httpx for the command line, with as little of it as the client of REST needs."""

from __future__ import annotations

import ssl
import sys
from urllib.parse import urlsplit

# httpx imports its own command line if it can, with click, rich and pygments: a third of its import time.
sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]

import httpx  # noqa: E402

__all__ = ["authorities", "httpx"]


def authorities(url: str) -> ssl.SSLContext | bool:
    """The authorities that vouch for what answers at ``url``: httpx's own, whose reading takes longer than a request.

    Without TLS there are none; and the client is of one origin, as it follows no redirects.
    """
    return True if urlsplit(url).scheme == "https" else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
