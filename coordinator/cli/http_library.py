"""Imports only the parts of httpx that the command line's REST client needs."""

from __future__ import annotations

import ssl
import sys
from urllib.parse import urlsplit

# httpx imports its own command line if it can, with click, rich and pygments: a third of its import time.
sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]

import httpx  # noqa: E402

__all__ = ["authorities", "httpx"]


def authorities(url: str) -> ssl.SSLContext | bool:
    """The certificate authorities for ``url``: those of httpx, or none if the URL has no TLS.

    Reading the authorities takes longer than a request. It is enough to look at ``url``, because the client follows no
    redirects.
    """
    return True if urlsplit(url).scheme == "https" else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
