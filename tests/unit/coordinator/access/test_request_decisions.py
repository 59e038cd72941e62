"""Which requests are answered, according to the headers that a browser sends about their origin."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinator.access.forms import tokens
from coordinator.access.requests import fields, is_known, refusal

NAMES = frozenset({"localhost", "chart.example"})
PATHS = ("/", "/campaigns/1/cancel", "/api/v1/campaigns", "/api/v1/bundles", "/static/x.css", "/healthz")
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


def test_a_name_is_known_whatever_its_port_and_letters() -> None:
    for host in ("localhost", "LOCALHOST:1", "chart.example.", "127.0.0.1:8642", "[::1]", "[2001:db8::1]:80"):
        assert is_known(host, NAMES), host
    for host in ("", "evil.example", "localhost.evil.example", "localhost,localhost", "127.0.0.1.evil.example", "a b"):
        assert not is_known(host, NAMES), host


@given(st.text(max_size=40))
def test_no_text_is_known_that_is_neither_a_name_of_ours_nor_an_address(host: str) -> None:
    name = host.lower().rpartition(":")[0] or host.lower()
    if is_known(host, NAMES):
        assert name.rstrip(".") in NAMES or set(name) <= set("0123456789abcdef.:[]")


@given(
    st.sampled_from(METHODS),
    st.sampled_from(PATHS),
    st.sampled_from(["cross-site", "same-site", "same-origin, cross-site", ""]),
    st.sampled_from(["cors", "no-cors", "websocket", "same-origin"]),
    st.sampled_from(["empty", "script", "image", "iframe", "document"]),
)
def test_what_another_site_makes_a_browser_send_is_refused(
    method: str, path: str, site: str, mode: str, destination: str
) -> None:
    site_headers = {"sec-fetch-site": site, "sec-fetch-mode": mode, "sec-fetch-dest": destination}
    error = refusal(method, path, {"host": "localhost", **site_headers}, NAMES)
    assert error is not None
    assert error.status == 403


@given(st.sampled_from(METHODS), st.sampled_from(PATHS), st.sampled_from(["document", "iframe", "embed"]))
def test_of_what_another_site_makes_a_browser_load_only_a_link_is_followed(
    method: str, path: str, destination: str
) -> None:
    site_headers = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": destination}
    is_followed = refusal(method, path, {"host": "localhost", **site_headers}, NAMES) is None
    assert is_followed == (method in ("GET", "HEAD") and destination == "document")


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost:1", "localhost:8642x"])
def test_where_a_browser_says_no_site_its_origin_counts(origin: str) -> None:
    head = {"host": "localhost:8642", "content-type": "application/json"}
    assert refusal("POST", "/api/v1/campaigns", {**head, "origin": "http://localhost:8642"}, NAMES) is None
    error = refusal("POST", "/api/v1/campaigns", {**head, "origin": origin}, NAMES)
    assert error is not None
    assert error.status == 403


@pytest.mark.parametrize(
    ("path", "media", "status"),
    [
        ("/api/v1/campaigns", "application/json; charset=utf-8", None),
        ("/api/v1/campaigns", "text/plain", 415),
        ("/api/v1/campaigns", "application/x-ndjson", 415),
        ("/api/v1/bundles", "application/x-ndjson", None),
        ("/api/v1/bundles", "multipart/form-data; boundary=x", 415),
        ("/campaigns/new", "multipart/form-data; boundary=x", None),
        ("/campaigns/new", "application/json", 415),
        ("/campaigns/new", None, 415),
        ("/api/v1/bundles", None, 415),
    ],
)
def test_each_address_takes_its_own_types(path: str, media: str | None, status: int | None) -> None:
    head = {"content-length": "3"} if media is None else {"content-length": "3", "content-type": media}
    error = refusal("POST", path, head, NAMES)
    assert (error.status if error else None) == status


def test_a_request_without_a_body_needs_no_type() -> None:
    assert refusal("POST", "/api/v1/reclassify", {"content-length": "0"}, NAMES) is None
    assert refusal("DELETE", "/api/v1/runners/1", {}, NAMES) is None
    assert refusal("POST", "/api/v1/campaigns", {"transfer-encoding": "chunked"}, NAMES) is not None


def test_a_body_has_one_length() -> None:
    both = {"content-length": "3", "transfer-encoding": "chunked", "content-type": "application/json"}
    error = refusal("POST", "/api/v1/campaigns", both, NAMES)
    assert error is not None
    assert error.status == 422


def test_a_header_that_is_given_twice_is_none_that_is_known() -> None:
    twice = fields([(b"host", b"localhost"), (b"host", b"evil.example"), (b"accept", b"*/*")])
    assert twice == {"host": "localhost,evil.example"}
    assert refusal("GET", "/", twice, NAMES) is not None


@given(st.binary(min_size=32, max_size=32), st.text())
def test_a_token_belongs_to_one_cookie_one_session_and_one_key(key: bytes, other: str) -> None:
    cookie = tokens.new_cookie()
    token = tokens.token_of(key, cookie, "session")
    assert tokens.belongs(key, cookie, "session", token)
    assert not tokens.belongs(key, tokens.new_cookie(), "session", token)
    assert not tokens.belongs(key, cookie, "", token)
    assert not tokens.belongs(key + b"x", cookie, "session", token)
    assert not tokens.belongs(key, None, "session", token)
    assert other == token or not tokens.belongs(key, cookie, "session", other)
