"""A coordinator that others can reach requires tokens, unless its owner explicitly turns access control off."""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from tests.acceptance.web.visitor import form_token
from tests.coordinator_process import free_port
from tests.database_roles import application
from tests.fork_server import COORDINATOR_SERVER, ForkedProcess
from tests.portolan_process import COMMAND, Portolan
from tests.waiting import LIMIT_S, until

OFF = "access control is off: anyone who can reach this coordinator may do everything"
ELSEWHERE = "127.0.0.2"
"""Another address of this machine. A coordinator that is reached there listens at more than 127.0.0.1."""


def bare(directory: Path, **variables: str) -> Portolan:
    """The commands of a user without a token."""
    return Portolan(directory, XDG_CONFIG_HOME=str(directory / "config"), **variables)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--anonymous", "admin"), "give none or viewer"),
        (("--anonymous", "operator"), "give none or viewer"),
        (("--anonymous", "viewer", "--without-access-control"), "cannot be combined"),
    ],
)
@pytest.mark.parametrize("command", ["up", "serve"])
def test_no_other_option_turns_it_off(
    tmp_path: Path, database: str, command: str, options: tuple[str, ...], words: str
) -> None:
    portolan = bare(tmp_path, PORTOLAN_DATABASE_URL=application(database))
    assert words in portolan.refused(command, "--host", "0.0.0.0", "--port", "0", *options)


@pytest.mark.parametrize("host", ["0.0.0.0", "127.0.0.2"])
def test_a_coordinator_without_an_admin_token_is_refused(tmp_path: Path, database: str, host: str) -> None:
    portolan = bare(tmp_path, PORTOLAN_DATABASE_URL=application(database), PORTOLAN_ANONYMOUS_ROLE="viewer")
    line = portolan.refused("serve", "--host", host, "--port", "0")
    assert "PORTOLAN_ADMIN_TOKEN_FILE" in line
    assert "--without-access-control" in line


def test_the_local_instance_without_it_serves_anybody_from_anywhere(place: Path) -> None:
    up = bare(place / "data").up(
        *("--host", "0.0.0.0", "--port", "0", "--targets", "hazards/cpu", "--without-access-control")
    )
    try:
        assert OFF in up.said
        (port,) = re.findall(r"^portolan \S+ at \S+:(\d+)", up.said, re.MULTILINE)
        url = f"http://{ELSEWHERE}:{port}"
        up.wait_says("hazards/cpu: runner ready")
        anybody, here = bare(place / "elsewhere"), ("--url", url)
        assert anybody.ask("whoami", *here).startswith("anonymous, admin at")
        campaign_options = ("--suite", "hazards", "--functions", "hazards.add", "--runs", "1", "--wait")
        assert "hazards.add" in anybody.ask("submit", *campaign_options, *here)
        assert re.match("portolan_", anybody.ask("token", "create", "ada", "--role", "viewer", *here))
        assert "anonymous, admin" in anybody.ask("audit", *here)
        assert anybody.ask("runner", "remove", "1", *here) == "runner 1 removed\n"
        with httpx.Client(base_url=url, headers={"Accept": "text/html"}, timeout=LIMIT_S) as reader:
            assert "Sign in" not in reader.get("/campaigns").text
            fields = {"suite": "hazards", "do": "preview", "form_token": form_token(reader)}
            assert reader.post("/campaigns/new", data=fields).status_code in (200, 422)
            # A page of another site is nobody's wish, whoever may do all.
            assert reader.post("/campaigns/new", data={**fields, "form_token": ""}).status_code == 403
            assert reader.post("/api/v1/reclassify", headers={"Origin": "https://evil.example"}).status_code == 403
            assert reader.get("/campaigns", headers={"Host": "evil.example"}).status_code == 421
    finally:
        up.stop()


def test_a_coordinator_of_one_s_own_database_without_it_serves_anybody(
    new_database: Callable[..., str], tmp_path: Path
) -> None:
    portolan = bare(tmp_path, PORTOLAN_DATABASE_URL=application(new_database()))
    port = free_port()
    serving = ForkedProcess(
        COORDINATOR_SERVER,
        [*COMMAND, "serve", "--host", "0.0.0.0", "--port", str(port), "--without-access-control"],
        env=portolan.variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    url = f"http://{ELSEWHERE}:{port}"
    try:
        until(lambda: _answers(url) or serving.poll() is not None, "the coordinator answers")
        assert portolan.ask("whoami", "--url", url).startswith("anonymous, admin at")
        assert httpx.post(f"{url}/api/v1/reclassify", timeout=LIMIT_S).status_code == 200
        # A token that is wrong is a mistake, and is said to be one.
        wrong = httpx.get(f"{url}/api/v1/runners", headers={"Authorization": "Bearer portolan_x"}, timeout=LIMIT_S)
        assert wrong.status_code == 401
    finally:
        serving.send_signal(signal.SIGTERM)
        _, complaint = serving.communicate(timeout=LIMIT_S)
    assert OFF in complaint


def _answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/healthz").is_success
    except httpx.TransportError:
        return False
