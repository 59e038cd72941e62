"""In a real browser, pages of other origins try to send commands to a coordinator. Nothing changes, and nothing is
read."""

from __future__ import annotations

import base64
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from scripts import chromium
from tests.browser.watched import WITHIN_S
from tests.faults.access.web.attacked_coordinator import AttackedCoordinator
from tests.threaded_server import ThreadedServer

NAMES = ("127.0.0.1", "evil.localhost", "evil.example")
"""The origins of the other page: another port of this host, another name of this host, and an unrelated name."""
RESOLVED = ", ".join(f"MAP {name} 127.0.0.1" for name in NAMES[1:])
RULES = "--host-resolver-rules="

REFUSED = {403, 415, 421}
KEPT = "net::ERR_BLOCKED_BY_RESPONSE.NotSameOrigin"
"""The console messages of a browser that keeps a response from pages of other origins. Forms and frames show theirs."""


class _Evil(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>Win a boat</title>")

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def evil_port() -> Iterator[int]:
    server = ThreadedServer(("127.0.0.1", 0), _Evil)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield server.server_port
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(scope="module")
def browser(browser_path: str, site: AttackedCoordinator) -> Iterator[Browser]:
    args = [arg for arg in chromium.ALONE if not arg.startswith(RULES)]
    args.append(f"{RULES}{RESOLVED}, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=args, chromium_sandbox=False)
        expect.set_options(timeout=WITHIN_S * 1e3)
        yield browser
        browser.close()


@pytest.fixture(params=NAMES)
def page(request: pytest.FixtureRequest, browser: Browser, site: AttackedCoordinator, evil_port: int) -> Iterator[Page]:
    """An admin who is signed in and has a page of the coordinator open, with the other page next to it."""
    context = browser.new_context(storage_state=site.session)
    context.set_default_timeout(WITHIN_S * 1e3)
    context.new_page().goto(f"{site.base}/runners/new")
    page = context.new_page()
    page.goto(f"http://{request.param}:{evil_port}/")
    yield page
    context.close()


SENT = {
    "cancel by a form": "form(`/campaigns/${campaign}/cancel`, {})",
    "cancel over REST by a form": "form(`/api/v1/campaigns/${campaign}/cancel`, {})",
    "cancel by text": "send('POST', `/api/v1/campaigns/${campaign}/cancel`, 'text/plain', '{}')",
    "submit by text": "send('POST', '/api/v1/campaigns', 'text/plain', JSON.stringify({suite: 'paper'}))",
    "submit by a form of text": """
        form('/api/v1/campaigns', {'{"suite": "paper", "name": "': '"}'}, 'text/plain')""",
    "import by text": "send('POST', '/api/v1/bundles?unsigned=true', 'text/plain', bundle)",
    "import by bytes of no type": """
        send('POST', '/api/v1/bundles?unsigned=true', null, new TextEncoder().encode(bundle))""",
    "import by a form with a file": "form('/api/v1/bundles?unsigned=true', {file: bundle}, 'multipart/form-data')",
    "reclassify": "send('POST', '/api/v1/reclassify', null, null)",
    "reclassify by a form": "form('/api/v1/reclassify', {})",
    "remove a runner by a form": "form(`/runners/${runner}/remove`, {})",
    "read by a script": "element('script', '/api/v1/campaigns')",
    "read a page by a script": "element('script', '/campaigns?as=json')",
    "an export by a picture": "element('img', `/api/v1/campaigns/${campaign}/outcomes?format=csv`)",
    "a frame": "element('iframe', '/campaigns')",
}
"""Requests that a browser sends without a preflight request."""
ASKED = {
    "remove by DELETE": "asked('DELETE', `/api/v1/runners/${runner}`, {})",
    "submit as JSON": """
        asked('POST', '/api/v1/campaigns', {'Content-Type': 'application/json'}, '{"suite": "paper"}')""",
    "import as a bundle": """
        asked('POST', '/api/v1/bundles?unsigned=true', {'Content-Type': 'application/x-ndjson'}, bundle)""",
    "read by fetch": "asked('GET', '/api/v1/campaigns', {})",
    "read a page by fetch": "asked('GET', '/campaigns', {})",
    "read with the cookie": "asked('GET', '/runners/new', {}, undefined, 'include')",
}
"""Requests that need a preflight request, or whose response the browser hides."""
TOOLS = """([base, campaign, runner, encoded]) => {
  const bundle = atob(encoded);
  const send = (method, path, type, body) =>
    fetch(base + path, { method, mode: "no-cors", credentials: "include", body,
      headers: type ? { "Content-Type": type } : {} }).then(() => "sent", String);
  const asked = (method, path, headers, body, credentials) =>
    fetch(base + path, { method, headers, body, credentials }).then((answer) => answer.text(), () => "refused");
  const form = (path, fields, enctype) => {
    const made = document.createElement("form");
    Object.assign(made, { method: "post", action: base + path });
    if (enctype) made.enctype = enctype;
    for (const [name, value] of Object.entries(fields)) {
      const input = document.createElement("textarea");
      Object.assign(input, { name, value });
      made.append(input);
    }
    document.body.append(made);
    made.submit();
  };
  const element = (tag, path) => {
    const made = document.createElement(tag);
    made.src = base + path;
    document.body.append(made);
  };
  return %s;
}"""


@pytest.mark.drawn(3)
@pytest.mark.parametrize("attack", SENT)
def test_what_a_browser_sends_at_once_is_refused(site: AttackedCoordinator, page: Page, attack: str) -> None:
    before = site.state()
    came: list[int | str | None] = []
    page.on("response", lambda answer: came.append(answer.status) if answer.url.startswith(site.base) else None)
    page.on(
        "requestfailed", lambda request: came.append(request.failure) if request.url.startswith(site.base) else None
    )
    page.evaluate(TOOLS % SENT[attack].strip(), _attack_arguments(site))
    deadline = time.monotonic() + WITHIN_S
    while not came and time.monotonic() < deadline:
        page.wait_for_timeout(20)
    assert came
    assert came[0] in {*REFUSED, KEPT}
    assert site.state() == before


@pytest.mark.drawn(3)
@pytest.mark.parametrize("attack", ASKED)
def test_what_a_browser_asks_about_first_is_not_allowed(site: AttackedCoordinator, page: Page, attack: str) -> None:
    before = site.state()
    assert page.evaluate(TOOLS % ASKED[attack].strip(), _attack_arguments(site)) == "refused"
    assert site.state() == before


def test_a_name_that_was_made_to_lead_here_shows_nothing(site: AttackedCoordinator, browser: Browser) -> None:
    """The page then has the coordinator's origin, so neither cookies nor the origin reveal it. Only its host name
    does."""
    with browser.new_context() as context:
        page = context.new_page()
        answer = page.goto(f"http://evil.example:{site.coordinator.port}/campaigns")
        assert answer is not None
        assert answer.status == 421
        assert "PORTOLAN_HOSTS" in page.inner_text("main")
        read = page.evaluate("fetch('/api/v1/campaigns').then((answer) => answer.status)")
        assert read == 421


def test_a_link_from_elsewhere_leads_to_the_page(site: AttackedCoordinator, page: Page) -> None:
    page.evaluate("(address) => { location = address; }", f"{site.base}/campaigns/{site.campaign}")
    page.get_by_role("heading", level=1).wait_for()
    assert page.url == f"{site.base}/campaigns/{site.campaign}"


def test_a_page_s_own_form_works(site: AttackedCoordinator, browser: Browser) -> None:
    campaign = site.coordinator.submit("*", suite="paper", targets=["listed/cpu"])
    with browser.new_context(storage_state=site.session) as context:
        page = context.new_page()
        page.goto(f"{site.base}/campaigns/{campaign}/cancel")
        page.get_by_role("button", name="Cancel the campaign").click()
        page.wait_for_url(f"{site.base}/campaigns/{campaign}")
    assert site.coordinator.campaign(campaign)["state"] == "cancelled"


def _attack_arguments(site: AttackedCoordinator) -> list[str | int]:
    return [site.base, site.campaign, site.runner, base64.b64encode(site.bundle).decode()]
