"""Fixtures of the tests in a browser: one coordinator for all, and a watched page for each."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import httpx
import pytest
from playwright.sync_api import Browser, StorageState, StorageStateCookie, expect

from scripts import chromium
from tests.acceptance.web.visitor import form_token
from tests.admin import ADMIN_TOKEN
from tests.browser import told_runner
from tests.browser.watched import DESK, WITHIN_S, Watched
from tests.coordinator_process import CoordinatorProcess
from tests.runner_process import ROOT, RunnerProcess

REQUIRED = "PORTOLAN_REQUIRE_BROWSER"
SECRET = "a secret of the tests"
RELEASE = "torch@2.9.0"


@pytest.fixture(scope="session")
def browser_path() -> str:
    path = chromium.find()
    if path is None:
        if os.environ.get(REQUIRED) == "1":
            pytest.fail(f"{REQUIRED}=1 is set, and {chromium.MISSING}")
        pytest.skip(chromium.MISSING)
    return path


@dataclass(frozen=True)
class BrowsedCoordinator:
    """A coordinator with campaigns, with runners of tales and hazards on two devices, and with a runner of a framework
    whose public surface comes with Portolan."""

    coordinator: CoordinatorProcess
    base: str
    high: int
    """The campaign that ran before ``tales.storm.ebb`` began to fail."""
    low: int
    session: StorageState
    """The cookies of a visitor who signed in as an admin."""
    unregistered: RunnerProcess
    """A runner that is not registered."""
    unused: CoordinatorProcess
    """A coordinator without campaigns."""


@pytest.fixture(scope="session")
def instance(
    browser_path: str, new_database: Callable[..., str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[BrowsedCoordinator]:
    note = tmp_path_factory.mktemp("note") / "low"
    coordinator, unused_coordinator = (CoordinatorProcess(new_database()) for _ in range(2))
    enrolled_runners = [
        *(_start_told_runner(device, str(note)) for device in ("cpu", "xla")),
        _start_told_runner("cpu", str(note), RELEASE),
    ]
    hazards = RunnerProcess(PORTOLAN_RUNNER_SECRET=SECRET)
    unregistered_runner = RunnerProcess(PORTOLAN_RUNNER_SECRET=SECRET, HAZARDS_NOTE=os.devnull)
    try:
        for _, url in enrolled_runners:
            assert coordinator.register(url, told_runner.SECRET).is_success
        assert coordinator.register(hazards.ready["url"], SECRET).is_success
        high = _chart(coordinator, "High water")
        note.touch()
        low = _chart(coordinator, "Low water <b>& bold</b>")
        base = f"http://127.0.0.1:{coordinator.port}"
        yield BrowsedCoordinator(coordinator, base, high, low, signed_in(base), unregistered_runner, unused_coordinator)
    finally:
        coordinator.stop()
        unused_coordinator.stop()
        for process, _ in enrolled_runners:
            process.kill()
            process.communicate()
        hazards.stop()
        unregistered_runner.stop()


def _start_told_runner(*arguments: str) -> tuple[subprocess.Popen[str], str]:
    command = [sys.executable, "-m", "tests.browser.told_runner", *arguments]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, process.stdout.readline().strip()


def _chart(coordinator: CoordinatorProcess, name: str) -> int:
    campaign = coordinator.submit("*", suite=told_runner.SUITE, targets=["tales/*"], runs=3, timing="steady", name=name)
    coordinator.wait_ended(campaign)
    return campaign


def signed_in(base: str) -> StorageState:
    """The cookies of a browser after signing in with the admin token."""
    with httpx.Client(base_url=base, timeout=WITHIN_S) as client:
        fields = {"token": ADMIN_TOKEN, "form_token": form_token(client)}
        answer = client.post("/login", data=fields, headers={"Origin": base})
        assert answer.status_code == 303, answer.text
        ((name, value),) = [item for item in client.cookies.items() if "session" in item[0]]
    cookie: StorageStateCookie = {
        "name": name,
        "value": value,
        "domain": "127.0.0.1",
        "path": "/",
        "expires": -1,
        "httpOnly": True,
        "secure": False,
        "sameSite": "Strict",
    }
    return {"cookies": [cookie], "origins": []}


@pytest.fixture(scope="session")
def browser(browser_path: str, instance: BrowsedCoordinator) -> Iterator[Browser]:
    """The browser. It is started after the coordinator, because this thread cannot run another event loop while
    Playwright runs."""
    with chromium.launch(browser_path) as browser:
        expect.set_options(timeout=WITHIN_S * 1e3)
        yield browser


@pytest.fixture
def visit(browser: Browser, instance: BrowsedCoordinator) -> Iterator[Watched]:
    """A visitor with an empty profile. At the end, the page must have reported no error."""
    context = browser.new_context(viewport=DESK, storage_state=instance.session)
    context.set_default_timeout(WITHIN_S * 1e3)
    reader = Watched(context.new_page(), instance.base)
    yield reader
    context.close()
    assert reader.faults == []
