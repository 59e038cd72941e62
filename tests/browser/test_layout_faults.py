"""The layout check detects each kind of fault. Content that readers can scroll to, or that is hidden on purpose, is no
fault."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser

from tests.browser.watched import DESK, Watched

SEEN = {
    "too wide: <p": '<p style="width: 1500px">A sentence</p>',
    'overlap: "One" and "Another"': '<p>One</p><p style="margin-top: -1.5em">Another</p>',
    'cut: "Below the end"': '<div style="height: 1.2em; overflow: hidden">Seen<br>Below the end</div>',
    'cut: "A long sentence that ends with dots': (
        '<p style="width: 6em; overflow: hidden; text-overflow: ellipsis; white-space: nowrap">'
        "A long sentence that ends with dots</p>"
    ),
}
NONE = {
    "a table that scrolls": '<div style="overflow: auto"><p style="width: 3000px">Far to the <b>right</b></p></div>',
    "text for readers aloud": '<p class="hidden" style="width: 1px; height: 1px; overflow: hidden">Read aloud</p>',
    "closed details": "<details><summary>More</summary><p>Inside</p></details>",
    "lines of one paragraph": (
        '<p style="width: 9em; line-height: 1.1">Words, <b>bold</b> words and <a href="/">links</a></p>'
    ),
}


def faults_of(browser: Browser, body: str) -> list[str]:
    page = browser.new_page(viewport=DESK)
    page.set_content(f"<!doctype html><body>{body}</body>")
    faults = Watched(page, "nowhere").layout_faults()
    page.close()
    return faults


@pytest.mark.parametrize("fault", SEEN)
def test_a_fault_is_seen(browser: Browser, fault: str) -> None:
    assert faults_of(browser, SEEN[fault])[0].startswith(fault)


@pytest.mark.parametrize("kind", NONE)
def test_no_fault_is_seen_where_none_is(browser: Browser, kind: str) -> None:
    assert faults_of(browser, NONE[kind]) == []
