"""Starts Debian's Chromium, driven by Playwright, for browser tests, screenshots and the bench of the pages."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator

from playwright.sync_api import Browser, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")
MISSING = f"there is no browser ({', '.join(NAMES)}): install Chromium (on Debian: `apt-get install chromium`)"

# These background services of the browser would send requests on their own.
ALONE = (
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-domain-reliability",
    "--disable-gpu",
    "--disable-sync",
    "--no-first-run",
    "--no-pings",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)


def find() -> str | None:
    return next(filter(None, map(shutil.which, NAMES)), None)


@contextlib.contextmanager
def launch(path: str) -> Iterator[Browser]:
    """Start a browser with an empty profile. Root must run it without its sandbox. This is safe, because it only opens
    our own pages."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(ALONE), chromium_sandbox=False)
        try:
            yield browser
        finally:
            browser.close()
