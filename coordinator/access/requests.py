"""Decides from the headers of a request whether the request is served. No I/O.

A page of another site can make a browser send any request to this coordinator. But the page cannot change how the
browser describes the request: the name in ``Host``, the origin, and the content type, which is limited to those of
forms. Clients that are not browsers send none of these headers and pass. Their rights are checked elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Set
from functools import lru_cache
from ipaddress import ip_address

from coordinator.errors import ForeignHostError, ForeignSiteError, MediaTypeError, RequestError
from coordinator.http.routers import API

SAFE = frozenset({"GET", "HEAD"})
"""Methods that change nothing. OPTIONS is a browser's preflight request."""
READ = frozenset(
    (
        b"content-length",
        b"content-type",
        b"host",
        b"origin",
        b"sec-fetch-dest",
        b"sec-fetch-mode",
        b"sec-fetch-site",
        b"transfer-encoding",
    )
)
"""The headers that the decision needs."""
JSON = frozenset({"application/json"})
BUNDLES = "/api/v1/bundles"
RECORDINGS = re.compile(r"/api/v1/runners/[0-9]+/recordings")
BUNDLE = frozenset({"application/x-ndjson"})
FORM = frozenset({"application/x-www-form-urlencoded", "multipart/form-data"})

HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(?::[0-9]{1,5})?", re.IGNORECASE)
SHOWN = 100
"""The number of characters of a header that a message shows."""


def fields(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Return the headers that the decision needs. If a header occurs twice, its values are joined, as HTTP defines, and
    then match no known value."""
    values: dict[str, str] = {}
    for name, value in headers:
        if name in READ:
            key, text = name.decode("latin-1"), value.decode("latin-1")
            values[key] = f"{values[key]},{text}" if key in values else text
    return values


def refusal(method: str, path: str, headers: Mapping[str, str], names: Set[str]) -> RequestError | None:
    """Return the reason why a request is refused; None if it is not. ``names`` are the host names of this
    coordinator."""
    if "transfer-encoding" in headers and "content-length" in headers:
        # A proxy could use one of these headers, and the server behind the proxy the other (request smuggling).
        return RequestError("the request has both Content-Length and Transfer-Encoding: send only one of them")
    host = headers.get("host")
    if host is not None and not is_known(host, names):
        name = _name(host)
        written_name = f"'{name[:SHOWN]}'" if name else "the name in the Host header"
        return ForeignHostError(
            f"this coordinator is not known as {written_name}: use its address, or add the name to "
            "PORTOLAN_HOSTS or with `portolan up --allowed-host`"
        )
    if is_foreign(host or "", headers) and not is_link(method, headers):
        return ForeignSiteError()
    if method in SAFE:
        return None
    return _refuse_type(path, headers)


def is_known(host: str, names: Set[str]) -> bool:
    """Whether a Host header names this coordinator, on any port.

    IP addresses are always accepted. Nobody can redirect an IP address, so a page from this address comes from this
    coordinator.
    """
    name = _name(host)
    return name is not None and (name in names or _is_address(name))


def is_foreign(host: str, headers: Mapping[str, str]) -> bool:
    """Whether the browser reports that a page of another origin sent the request.

    ``Sec-Fetch-Site`` decides if it is present, because behind a proxy the Host can differ from the page's host.
    """
    origin, site = headers.get("origin"), headers.get("sec-fetch-site")
    if origin == "null":
        return True
    if site is not None:
        return site not in ("same-origin", "none")
    return origin is not None and origin.rpartition("://")[2].lower() != host.lower()


def is_link(method: str, headers: Mapping[str, str]) -> bool:
    """Whether a person followed a link. The response then replaces the linking page, which cannot read it."""
    return (
        method in SAFE
        and headers.get("sec-fetch-mode") == "navigate"
        and headers.get("sec-fetch-dest") == "document"
        and "origin" not in headers
    )


def accepted_types(path: str) -> Set[str]:
    """The body types that a path accepts. A form of another site cannot send the types that ``/api`` accepts."""
    if not path.startswith(API):
        return FORM
    return BUNDLE if path == BUNDLES else JSON


def _refuse_type(path: str, headers: Mapping[str, str]) -> MediaTypeError | None:
    media_types, content_type = accepted_types(path), headers.get("content-type")
    has_body = headers.get("content-length", "0") != "0" or "transfer-encoding" in headers
    if content_type is None and not has_body:
        return None
    media = (content_type or "").partition(";")[0].strip().lower()
    if media in media_types:
        return None
    came = f"the request has {media[:SHOWN]}" if media else "the request has none"
    return MediaTypeError(f"send the body with the Content-Type {' or '.join(sorted(media_types))}: {came}")


@lru_cache(maxsize=256)
def _name(host: str) -> str | None:
    """The name or address in a Host header; None if there is none."""
    match = HOST.fullmatch(host)
    return match[1].lower().rstrip(".") if match else None


@lru_cache(maxsize=256)
def _is_address(name: str) -> bool:
    try:
        ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True
