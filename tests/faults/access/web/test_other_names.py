"""Requests that another page can make a browser send are refused over real sockets, and change nothing."""

from __future__ import annotations

import json

import httpx
import pytest

from tests.acceptance.web.visitor import form_token
from tests.faults.access.web.attacked_coordinator import NAMED, AttackedCoordinator

JSON = "application/json"
FORM = "application/x-www-form-urlencoded"
IMPORT = "/api/v1/bundles?unsigned=true"
PAGES = ("/campaigns", "/api/v1/campaigns", "/static/portolan.css", "/healthz", "/metrics", "/nowhere")
POLICIES = ("content-security-policy", "cross-origin-resource-policy", "referrer-policy", "x-content-type-options")
OVERRIDE = {"case": "listed.one/0", "target": "listed/cpu", "by": "Eve", "why": "so", "cause": "memory"}


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8642", "localhost.evil.example", "127.0.0.1.evil.example", "x y"]
)
def test_under_another_name_nothing_can_be_read(site: AttackedCoordinator, path: str, host: str) -> None:
    status, _, text = site.ask("GET", path, Host=host)
    assert status == 421
    assert "PORTOLAN_HOSTS" in json.loads(text)["detail"]


@pytest.mark.parametrize(
    "host", ["localhost", "127.0.0.1:1", "[::1]:8642", "192.0.2.7", NAMED, f"{NAMED.upper()}:8642"]
)
def test_under_its_own_names_and_at_any_address_it_answers(site: AttackedCoordinator, host: str) -> None:
    assert site.ask("GET", "/healthz", Host=host)[0] == 200


def test_a_probe_that_names_no_host_is_answered(site: AttackedCoordinator) -> None:
    assert site.ask("GET", "/healthz")[0] == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "null"},
        {"Origin": "null", "Sec_Fetch_Site": "same-origin"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
        {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "document"},
    ],
    ids=str,
)
@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/api/v1/campaigns", b'{"suite": "paper"}'),
        ("POST", "/api/v1/campaigns/{campaign}/cancel", b""),
        ("POST", "/api/v1/reclassify", b""),
        ("PUT", "/api/v1/campaigns/{campaign}/overrides", json.dumps(OVERRIDE).encode()),
        ("DELETE", "/api/v1/runners/{runner}", b""),
        ("POST", "/campaigns/{campaign}/cancel", b"x=1"),
        ("POST", "/runners/{runner}/remove", b"x=1"),
    ],
)
def test_what_another_site_sends_changes_nothing(
    site: AttackedCoordinator, headers: dict[str, str], method: str, path: str, body: bytes
) -> None:
    before = site.state()
    address = path.format(campaign=site.campaign, runner=site.runner)
    kind = JSON if address.startswith("/api") else FORM
    status, _, text = site.ask(method, address, body, Host="localhost", Content_Type=kind, **headers)
    assert status == 403
    assert "another site" in json.loads(text)["detail"]
    assert site.state() == before


@pytest.mark.parametrize("kind", ["text/plain", FORM, "multipart/form-data; boundary=x", f"text/plain; {JSON}", ""])
@pytest.mark.parametrize(
    ("path", "takes"),
    [("/api/v1/campaigns", JSON), (IMPORT, "application/x-ndjson"), ("/api/v1/campaigns/1/cancel", JSON)],
)
def test_a_body_that_a_form_could_send_is_none_of_the_api_s(
    site: AttackedCoordinator, path: str, takes: str, kind: str
) -> None:
    before = site.state()
    body = site.bundle if "bundles" in path else b'{"suite": "paper"}'
    headers = {"Content_Type": kind} if kind else {}
    status, _, text = site.ask("POST", path, body, **headers)
    assert status == 415
    assert takes in json.loads(text)["detail"]
    assert site.state() == before


@pytest.mark.parametrize("kind", [JSON, "text/plain"])
def test_a_page_takes_forms_only(site: AttackedCoordinator, kind: str) -> None:
    assert site.ask("POST", f"/campaigns/{site.campaign}/cancel", b"{}", Content_Type=kind)[0] == 415


@pytest.mark.parametrize(
    "path", ["/campaigns/{campaign}/cancel", "/runners/{runner}/remove", "/runners/new", "/campaigns/new"]
)
@pytest.mark.parametrize("forgery", ["no token", "no cookie", "a token of another reader"])
def test_a_form_without_its_reader_s_token_changes_nothing(site: AttackedCoordinator, path: str, forgery: str) -> None:
    before = site.state()
    with (
        httpx.Client(base_url=site.base, cookies=site.cookies) as reader,
        httpx.Client(base_url=site.base, cookies=site.cookies) as other,
    ):
        mine, others = form_token(reader), form_token(other)
        if forgery == "no cookie":
            reader.cookies.delete("portolan_form")
        token_field = {"no token": {}, "no cookie": {"form_token": mine}}.get(forgery, {"form_token": others})
        address = path.format(campaign=site.campaign, runner=site.runner)
        answer = reader.post(
            address, data={"url": "http://127.0.0.1:1", "suite": "paper", "do": "submit", **token_field}
        )
    assert answer.status_code == 403
    assert "Open the page again" in answer.json()["detail"]
    assert site.state() == before


def test_the_cookie_of_forms_is_for_no_script_and_no_other_site(site: AttackedCoordinator) -> None:
    set_cookie = httpx.get(f"{site.base}/runners/new", cookies=site.cookies).headers["set-cookie"]
    assert {"HttpOnly", "SameSite=strict", "Path=/"} <= set(set_cookie.split("; "))


@pytest.mark.parametrize(
    "path",
    [
        *PAGES,
        "/campaigns/{campaign}",
        "/campaigns/{campaign}?as=json",
        "/campaigns/{campaign}?as=csv",
        "/campaigns/{campaign}/report",
        "/campaigns/{campaign}/report?download=1",
        "/api/v1/campaigns/{campaign}/outcomes?format=csv",
        "/api/v1/campaigns/{campaign}/report",
        "/api/v1/nowhere",
        "/openapi.json",
        "/docs",
    ],
)
def test_every_answer_has_the_headers(site: AttackedCoordinator, path: str) -> None:
    _, headers, _ = site.ask("GET", path.format(campaign=site.campaign))
    assert set(POLICIES) <= set(headers)
    assert headers["x-content-type-options"] == "nosniff"
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe-eval" not in policy
    assert "script-src 'self'" in policy or "script-src" not in policy
    assert not [name for name in headers if name.startswith("access-control-")]


def test_the_report_says_its_policy_itself(site: AttackedCoordinator) -> None:
    _, _, text = site.ask("GET", f"/api/v1/campaigns/{site.campaign}/report")
    head = text[: text.index("<style>")]
    assert '<meta http-equiv="Content-Security-Policy" content="default-src &#39;none&#39;;' in head
    assert "<script" not in text


def test_refusals_have_the_headers_too(site: AttackedCoordinator) -> None:
    for status, headers, _ in (
        site.ask("GET", "/campaigns", Host="evil.example"),
        site.ask("POST", "/api/v1/reclassify", Origin="null"),
    ):
        assert status in (403, 421)
        assert set(POLICIES) <= set(headers)


def test_a_bundle_as_what_it_is_is_imported(site: AttackedCoordinator) -> None:
    """This test runs last, because the same bytes are refused in the tests above."""
    status, _, text = site.ask("POST", IMPORT, site.bundle, Content_Type="application/x-ndjson")
    assert status == 201, text
