"""A page that is watched: what it asks for, what fails, and what it complains of."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import ConsoleMessage, Page, Request, Response, ViewportSize

WITHIN_S = 30.0
"""What a page is to show does not take longer."""
SERIOUS = ("serious", "critical")
PHONE: ViewportSize = {"width": 390, "height": 844}
DESK: ViewportSize = {"width": 1280, "height": 900}
RULES = {"resultTypes": ["violations"], "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]}
OUTSIDE = """() => [...document.querySelectorAll("main *, header *, footer *")]
  .filter((each) => each.getBoundingClientRect().right > innerWidth + 1 && !each.closest(".scroll, pre, svg, canvas"))
  .slice(0, 5).map((each) => each.outerHTML.slice(0, 120))"""


class Watched:
    """A page of one coordinator. ``faults`` is what no visitor may meet."""

    def __init__(self, page: Page, base: str) -> None:
        self.page = page
        self.base = base
        self.faults: list[str] = []
        self._expected: int | None = None
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.faults.append(f"uncaught: {error}"))
        page.on("request", self._request)
        page.on("requestfailed", self._note_failure)
        page.on("response", self._response)
        page.on("dialog", self._dialog)

    def open(self, path: str) -> None:
        self.page.goto(self.base + path)
        self.page.wait_for_load_state("load")

    @contextlib.contextmanager
    def expecting(self, status: int) -> Iterator[None]:
        """Answers of this status are what the test is about."""
        self._expected = status
        yield
        self._expected = None

    def wait_settled(self, most: int = 2) -> None:
        """The first figures that are to become interactive have, or the page has none."""
        figures = self.page.locator("[data-figure]")
        for number in range(min(most, figures.count())):
            figures.nth(number).scroll_into_view_if_needed()
            figures.nth(number).locator(".interactive").wait_for()

    def accessibility_faults(self) -> list[str]:
        """What axe finds that keeps somebody out, one line each."""
        violations: list[dict[str, Any]] = Axe().run(self.page, options=RULES).response["violations"]
        return [
            f"{each['id']} ({each['impact']}): {each['help']}: {each['nodes'][0]['html'][:300]}"
            for each in violations
            if each["impact"] in SERIOUS
        ]

    def too_wide(self) -> list[str]:
        """What makes a phone's page scroll sideways."""
        page = self.page
        page.set_viewport_size(PHONE)
        wide = page.evaluate("document.documentElement.scrollWidth") > PHONE["width"]
        selectors: list[str] = page.evaluate(OUTSIDE) or ["the page"] if wide else []
        page.set_viewport_size(DESK)
        return selectors

    def _console(self, message: ConsoleMessage) -> None:
        # What a server refused is heard of by its status.
        if message.type in ("error", "warning") and "the server responded with a status" not in message.text:
            self.faults.append(f"console: {message.text}")

    def _request(self, request: Request) -> None:
        address = urlsplit(request.url)
        if address.scheme in ("http", "https", "ws", "wss") and not request.url.startswith(f"{self.base}/"):
            self.faults.append(f"asked elsewhere: {request.url}")

    def _note_failure(self, request: Request) -> None:
        # Leaving a page ends what it still read.
        if request.failure != "net::ERR_ABORTED":
            self.faults.append(f"{request.url}: {request.failure}")

    def _response(self, response: Response) -> None:
        if response.status >= 400 and response.status != self._expected:
            self.faults.append(f"{response.status}: {response.url}")

    def _dialog(self, dialog: Any) -> None:
        self.faults.append(f"a dialog opened: {dialog.message}")
        dialog.dismiss()
