"""Whether a server lets an idle connection be: one that closes it as a request comes loses that request."""

from __future__ import annotations

import http.client
import select
from urllib.parse import urlsplit

CLIENTS_KEEP_S = 5.0
"""For how long httpx, left as it is, uses an idle connection again."""
SLACK_S = 1.0


def outlasts_clients(url: str) -> bool:
    """Whether the server of ``url`` keeps an idle connection for longer than usual clients do."""
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
