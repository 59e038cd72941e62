"""The how-to for a team can be followed as written: its commands run in its order, on three machines.

Blocks without a language are typed into a shell. A text block after such a block is the expected output, in which ``…``
matches anything. Only the first block, whose values depend on the place, is replaced.
"""

from __future__ import annotations

import shutil
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from scripts import chromium
from tests.browser.conftest import browser_path as browser_path
from tests.browser.watched import WITHIN_S
from tests.coordinator_process import free_port
from tests.how_to import Machine, is_shown, read_steps
from tests.runner_process import ROOT

PAGE = (ROOT / "docs" / "how-to" / "share-with-a-team.md").read_text()
SETTINGS = "Settings"
BOX, ADA, BEN, LAB = "box", "ada", "ben", "lab3"
SIGN_IN, WORK = "4. Sign in with a browser", "6. Work"
WHERE = {
    "1. Start the coordinator": [BOX],
    "2. Make a token for each person": [BOX],
    "3. Sign in on the command line": [ADA],
    SIGN_IN: [ADA],
    "5. Let a runner join": [BOX, LAB],
    WORK: [ADA],
    "7. Read the audit": [BOX],
    "8. Revoke a token": [BOX, ADA],
}
"""The person on whose machine each block of a chapter is typed."""
REFUSAL = "this request needs the role submitter, but ben has the role viewer: ask an admin for a token with that role"


@pytest.fixture
def hostname() -> str:
    """A name under which this machine reaches itself: its own name, if this name leads here."""
    own = socket.gethostname()
    try:
        socket.gethostbyname(own)
    except OSError:
        return "localhost"
    return own


@pytest.fixture
def machines(place: Path, hostname: str) -> Iterator[dict[str, Machine]]:
    settings = (
        f"export BOX={hostname} PORT={free_port()} RUNNERS_PORT={free_port()}\n"
        f"export NETWORK={socket.gethostbyname(hostname)}/32\n"
        "export FRAMEWORK=hazards DEVICE=cpu SUITE=hazards FUNCTIONS=hazards.add\n"
    )
    with ExitStack() as stack:
        machines_by_name = {}
        for name in (BOX, ADA, BEN, LAB):
            machines_by_name[name] = Machine(place / name, settings)
            stack.callback(machines_by_name[name].stop)
        yield machines_by_name


@pytest.fixture
def browser(browser_path: str, hostname: str) -> Iterator[Browser]:
    rule = "--host-resolver-rules="
    args = [arg for arg in chromium.ALONE if not arg.startswith(rule)]
    args.append(f"{rule}MAP {hostname} {socket.gethostbyname(hostname)}, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=args, chromium_sandbox=False)
        expect.set_options(timeout=WITHIN_S * 1e3)
        yield browser
        browser.close()


def bring_tokens(machines: dict[str, Machine]) -> None:
    """Bring each token from the box to the person whose name it has."""
    for file in machines[BOX].home.glob("*.token"):
        assert file.stat().st_mode & 0o077 == 0, file
        shutil.move(file, machines[file.stem].home / file.name)


def open_page(browser: Browser, address: str) -> Page:
    page = browser.new_context().new_page()
    page.set_default_timeout(WITHIN_S * 1e3)
    page.goto(address)
    return page


def test_a_team_follows_the_page(machines: dict[str, Machine], browser: Browser) -> None:
    steps = list(read_steps(PAGE))
    assert steps[0].chapter == SETTINGS
    typed_at = {chapter: iter(names) for chapter, names in WHERE.items()}
    pages: dict[str, Page] = {}
    for step in steps[1:]:
        output = machines[next(typed_at[step.chapter])].follow(step)
        bring_tokens(machines)
        if step.chapter == SIGN_IN:
            link = output.strip()
            pages[ADA] = open_page(browser, link)
            expect(pages[ADA].locator(".caller")).to_contain_text("ada, submitter")
            pages[BEN] = open_page(browser, link.partition("/login")[0])
            sign_in(pages[BEN], (machines[BEN].home / "ben.token").read_text().strip())
            expect(pages[BEN].locator(".caller")).to_contain_text("ben, viewer")
        if step.chapter == WORK:
            pages[BEN].get_by_role("link", name="Campaigns").click()
            expect(pages[BEN].get_by_role("table").first).to_contain_text("hazards")
            pages[BEN].get_by_role("link", name="New campaign").click()
            expect(pages[BEN].locator("main .lead")).to_have_text(REFUSAL)
    assert f"```text\n{REFUSAL}\n```" in PAGE
    left = {chapter: list(names) for chapter, names in typed_at.items()}
    assert not any(left.values()), "the page has fewer blocks than are expected"
    # She who lost her token has lost her session with it, and her work is there for the others.
    answer = pages[ADA].reload()
    assert answer is not None
    assert answer.status == 401
    assert "hazards.add" in (machines[ADA].home / "one.csv").read_text()


def sign_in(page: Page, token: str) -> None:
    page.get_by_role("main").get_by_role("link", name="Sign in").click()
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Sign in").click()


def test_a_page_that_is_untrue_is_noticed() -> None:
    (step,) = read_steps("## One\n\n```\nportolan whoami\n```\n\n```text\nada, … at http://…\nlast\n```\n")
    assert is_shown(step, "first\nada,  submitter at http://box:1\nmiddle\nlast\n")
    for output in ("ada, submitter at http://box:1\n", "last\nada, x at http://box\n", "bea, x at http://b\nlast\n"):
        assert not is_shown(step, output)
