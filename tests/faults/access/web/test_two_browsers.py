"""Users of three roles in two real browsers, and a stolen token: which requests are allowed, and what the pages say.

A refused user reads what is missing and what to do, because most refused users made a mistake and are no attackers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from scripts import chromium
from tests.admin import ADMIN_TOKEN
from tests.browser.watched import WITHIN_S
from tests.faults.access.web.attacked_coordinator import AttackedCoordinator
from tests.waiting import until

ELSEWHERE = "127.0.0.2"
"""The address of a thief: a second address of this machine."""


@pytest.fixture(scope="module")
def browsers(browser_path: str, site: AttackedCoordinator) -> Iterator[tuple[Browser, Browser]]:
    """Two processes of Chromium that share nothing."""
    with sync_playwright() as playwright:
        expect.set_options(timeout=WITHIN_S * 1e3)
        first, second = (
            playwright.chromium.launch(executable_path=browser_path, args=[*chromium.ALONE], chromium_sandbox=False)
            for _ in range(2)
        )
        yield first, second
        first.close()
        second.close()


def token(site: AttackedCoordinator, name: str, role: str) -> dict[str, Any]:
    answer = site.coordinator.http.post("/tokens", json={"name": name, "role": role})
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


def sign_in(page: Page, secret: str) -> None:
    page.get_by_label("Token").fill(secret)
    page.get_by_role("button", name="Sign in").click()


def signed_in(site: AttackedCoordinator, browser: Browser, secret: str) -> Page:
    """A page in a new profile, signed in like a user signs in."""
    page = browser.new_context(base_url=site.base).new_page()
    page.set_default_timeout(WITHIN_S * 1e3)
    page.goto("/campaigns")
    page.get_by_role("link", name="Sign in").first.click()
    sign_in(page, secret)
    expect(page.get_by_role("heading", level=1)).to_have_text("Campaigns")
    return page


def refusal(page: Page, path: str, status: int = 403) -> str:
    """The text that a user without permission sees in place of this page."""
    answer = page.goto(path)
    assert answer is not None
    assert answer.status == status
    return page.locator("main .lead").inner_text()


def test_a_viewer_a_submitter_and_an_operator_may_each_what_their_role_says(
    site: AttackedCoordinator, browsers: tuple[Browser, Browser]
) -> None:
    people = {"vera": "viewer", "sam": "submitter", "sue": "submitter", "olga": "operator"}
    vera, sam, sue, olga = (
        signed_in(site, browsers[number % 2], token(site, name, role)["secret"])
        for number, (name, role) in enumerate(people.items())
    )
    vera.get_by_role("link", name="New campaign").click()
    expect(vera.locator("main .lead")).to_have_text(
        "this request needs the role submitter, but vera has the role viewer: ask an admin for a token with that role"
    )
    sam.get_by_role("link", name="New campaign").click()
    sam.get_by_label(re.compile("^Name")).fill("Of Sam")
    sam.get_by_role("button", name="Submit").click()
    expect(sam.get_by_role("heading", level=1)).to_have_text("Of Sam")
    path = httpx.URL(sam.url).path
    campaign = int(path.rpartition("/")[2])
    assert site.coordinator.campaign(campaign)["created_by"] == "sam"

    vera.goto(path)
    expect(vera.get_by_role("heading", level=1)).to_have_text("Of Sam")
    assert "needs the role submitter, but vera has the role viewer" in refusal(vera, f"{path}/cancel")
    sue.goto(f"{path}/cancel")
    sue.get_by_role("button", name="Cancel the campaign").click()
    expect(sue.locator("main .lead")).to_contain_text("needs the role operator, but sue has the role submitter")
    assert "needs the role operator, but sam has the role submitter" in refusal(sam, "/runners/new")
    assert "needs the role admin, but olga has the role operator" in refusal(olga, "/tokens")
    assert site.coordinator.campaign(campaign)["state"] == "running"

    olga.goto(f"{path}/cancel")
    olga.get_by_role("button", name="Cancel the campaign").click()
    expect(olga).to_have_url(f"{site.base}{path}")
    assert site.coordinator.campaign(campaign)["state"] == "cancelled"
    for page in (vera, sam, sue, olga):
        page.context.close()


def test_a_stolen_token_is_seen_and_revoked_and_its_owner_goes_on_with_another(
    site: AttackedCoordinator, browsers: tuple[Browser, Browser]
) -> None:
    stolen = token(site, "dora", "submitter")
    dora = signed_in(site, browsers[0], stolen["secret"])
    admin = signed_in(site, browsers[1], ADMIN_TOKEN)
    headers = {"Authorization": f"Bearer {stolen['secret']}"}
    transport = httpx.HTTPTransport(local_address=ELSEWHERE)
    with httpx.Client(base_url=site.base, headers=headers, transport=transport, timeout=WITHIN_S) as thief:
        submission = thief.post("/api/v1/campaigns", json={"suite": "paper", "targets": ["listed/cpu"]})
        assert submission.status_code == 201, submission.text
        wait_audit_entry(site, "dora", 201)
        admin.goto("/audit")
        entry = admin.get_by_role("row", name=f"dora, submitter {ELSEWHERE} POST /api/v1/campaigns 201")
        expect(entry.first).to_be_visible()

        until(lambda: token_row(site, stolen)["last_used_at"], "its last use is written")
        admin.get_by_role("main").get_by_role("link", name="token").click()
        row = admin.get_by_role("row", name=re.compile(f"^dora submitter {stolen['prefix']}"))
        expect(row).not_to_contain_text("never")
        row.get_by_role("button", name="Revoke").click()
        expect(row).to_contain_text("by admin")

        answer = thief.get("/api/v1/campaigns")
        assert answer.status_code == 401
        assert f"the token {stolen['prefix']} was revoked on" in answer.json()["detail"]
        assert "ask an admin for a new one" in answer.json()["detail"]
        entry = wait_audit_entry(site, "dora", 401)
        assert (entry["address"], entry["token_id"], entry["role"]) == (ELSEWHERE, stolen["id"], None)

    assert "sign in at /login in a browser" in refusal(dora, f"/campaigns/{site.campaign}", 401)
    dora.get_by_role("main").get_by_role("link", name="Sign in").click()
    sign_in(dora, stolen["secret"])
    expect(dora.get_by_role("alert")).to_contain_text(f"the token {stolen['prefix']} was revoked on")
    expect(dora.get_by_role("alert")).to_contain_text("ask an admin for a new one")
    sign_in(dora, token(site, "dora", "submitter")["secret"])
    expect(dora).to_have_url(f"{site.base}/campaigns/{site.campaign}")
    for page in (dora, admin):
        page.context.close()


def wait_audit_entry(site: AttackedCoordinator, who: str, status: int) -> dict[str, Any]:
    """Wait for the newest audit entry with this name and status from the thief's address."""

    def find() -> dict[str, Any] | None:
        entries = site.coordinator.http.get("/audit", params={"who": who}).json()["entries"]
        return next((entry for entry in entries if (entry["address"], entry["status"]) == (ELSEWHERE, status)), None)

    entry: dict[str, Any] = until(find, f"what {who} did is recorded")
    return entry


def token_row(site: AttackedCoordinator, token: dict[str, Any]) -> dict[str, Any]:
    tokens = site.coordinator.http.get("/tokens").json()["tokens"]
    return next(dict(row) for row in tokens if row["id"] == token["id"])
