"""Checks whether a server keeps an idle connection open. If a server closes a connection while a request arrives, the
request is lost."""

from __future__ import annotations

import http.client
import select
from urllib.parse import urlsplit

CLIENTS_KEEP_S = 5.0
"""The seconds for which httpx, with its default settings, reuses an idle connection."""
SLACK_S = 1.0


def outlasts_clients(url: str) -> bool:
    """Whether the server at ``url`` keeps an idle connection for longer than usual clients use it."""
    address = urlsplit(url)
    assert address.hostname
    connection = http.client.HTTPConnection(address.hostname, address.port)
    try:
        connection.request("GET", "/healthz")
        assert connection.getresponse().read()
        readable, _, _ = select.select([connection.sock], [], [], CLIENTS_KEEP_S + SLACK_S)
        return not readable
    finally:
        connection.close()
