"""httpx for the command line, importing only the parts that the REST client needs."""

from __future__ import annotations

import ssl
import sys
from urllib.parse import urlsplit

# httpx imports its own command line if it can, with click, rich and pygments: a third of its import time.
sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]

import httpx  # noqa: E402

__all__ = ["authorities", "httpx"]


def authorities(url: str) -> ssl.SSLContext | bool:
    """The certificate authorities for ``url``: httpx's own, or none for a URL without TLS.

    Reading them takes longer than a request. Only ``url`` matters, because the client follows no redirects.
    """
    return True if urlsplit(url).scheme == "https" else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
