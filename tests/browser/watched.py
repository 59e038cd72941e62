"""A page whose requests, failures and console messages are recorded."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import ConsoleMessage, Page, Request, Response

from scripts.screenshots import WINDOWS, views

WITHIN_S = 30.0
"""The time limit for content to appear on a page."""
DESK = WINDOWS["desk"]
RULES = {"resultTypes": ["violations"], "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]}
CUT_TABLES = """[...document.querySelectorAll(".scroll")].filter(table => table.scrollWidth > table.clientWidth)
  .map(table => `${table.ariaLabel}: ${table.scrollWidth} of ${table.clientWidth} px`)"""
LAYOUT = Path(__file__).with_name("layout.js").read_text()


class Watched:
    """A page of one coordinator. ``faults`` are the errors that no visitor may meet."""

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
        """During the block, responses with this status are expected."""
        self._expected = status
        yield
        self._expected = None

    def wait_settled(self, most: int = 2) -> None:
        """Wait until the page's first interactive figures are ready, if the page has any."""
        figures = self.page.locator("[data-figure]")
        for number in range(min(most, figures.count())):
            figures.nth(number).scroll_into_view_if_needed()
            figures.nth(number).locator(".interactive").wait_for()

    def photograph(self, folder: Path) -> list[str]:
        """Take a picture of the whole page in each view (``phone-dark.png``). Returns the faults of all views."""
        faults = []
        for window, scheme in views(self.page):
            self.page.screenshot(path=folder / f"{window}-{scheme}.png", full_page=True)
            faults += [
                f"{window}, {scheme}: {fault}" for fault in (*self.accessibility_faults(), *self.layout_faults())
            ]
        self.page.set_viewport_size(DESK)
        return faults

    def accessibility_faults(self) -> list[str]:
        """The faults that axe finds, one line each."""
        violations: list[dict[str, Any]] = Axe().run(self.page, options=RULES).response["violations"]
        return [
            f"{violation['id']} ({violation['impact']}): {violation['help']}: {violation['nodes'][0]['html'][:300]}"
            for violation in violations
        ]

    def cut_tables(self) -> list[str]:
        """The tables that are wider than the window, one line each. The page must have a table."""
        assert self.page.locator(".scroll table").count(), "the page has no table, so none can be cut"
        tables: list[str] = self.page.evaluate(CUT_TABLES)
        return tables

    def layout_faults(self) -> list[str]:
        """Elements outside of the window, and texts that overlap or are cut, one line each."""
        faults: list[str] = self.page.evaluate(LAYOUT)
        return faults

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
