"""Tokens of the command line: where commands read them, with which file modes, and to which servers they are sent."""

from __future__ import annotations

import http.server
import re
import stat
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from coordinator.cli.credentials import Origin, TokenStore, find_token
from coordinator.cli.directory import DataDirectory, kept_admin_token
from coordinator.cli.rest_client import Client
from coordinator.errors import CoordinatorError
from tests.admin import ADMIN_TOKEN
from tests.coordinator_process import CoordinatorProcess
from tests.portolan_process import Portolan
from tests.threaded_server import ThreadedServer

VARIABLES = ("PORTOLAN_TOKEN", "PORTOLAN_TOKEN_FILE", "PORTOLAN_SECRETS", "PORTOLAN_PORT", "PORTOLAN_URL")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A user without any stored token."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def listener() -> Iterator[tuple[str, list[str | None]]]:
    """A server that redirects every request, and records the tokens that it received."""
    tokens: list[str | None] = []

    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            tokens.append(self.headers.get("Authorization"))
            self.send_response(307)
            self.send_header("Location", f"http://localhost:{self.server.server_port}/elsewhere")  # type: ignore[attr-defined]
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadedServer(("127.0.0.1", 0), Answer) as server:
        threading.Thread(target=server.serve_forever).start()
        yield f"http://127.0.0.1:{server.server_port}", tokens
        server.shutdown()


def test_a_stored_token_is_its_owner_s_alone_and_its_origin_s_alone(bare: Path) -> None:
    store = TokenStore()
    there, other = Origin.of("https://there.example"), Origin.of("https://there.example:8443")
    file = store.keep(there, "portolan_one")
    assert mode(file) == 0o600
    assert mode(file.parent) == 0o700
    store.keep(other, "portolan_two")
    directory = DataDirectory(bare / "data")
    assert find_token("https://there.example/", directory) == "portolan_one"
    assert find_token("https://there.example:8443", directory) == "portolan_two"
    for stranger in ("http://there.example", "https://there.example.org", "http://127.0.0.1:8642", "nonsense"):
        assert find_token(stranger, directory) is None
    file.chmod(0o644)
    with pytest.raises(CoordinatorError, match="chmod 600"):
        find_token("https://there.example", directory)
    assert store.forget(there)
    assert not store.forget(there)


def test_the_containers_token_is_for_this_machine_and_their_port_alone(
    bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (bare / "secrets").mkdir()
    (bare / "secrets" / "admin").write_text("portolan_of_the_containers\n")
    directory = DataDirectory(bare / "data")
    assert find_token("http://127.0.0.1:8642", directory) == "portolan_of_the_containers"
    for stranger in ("http://127.0.0.1:8643", "http://box:8642", "https://127.0.0.1"):
        assert find_token(stranger, directory) is None
    monkeypatch.setenv("PORTOLAN_PORT", "8643")
    assert find_token("http://localhost:8643", directory) == "portolan_of_the_containers"


def test_the_containers_token_is_not_for_another_program_at_their_port(
    bare: Path, monkeypatch: pytest.MonkeyPatch, listener: tuple[str, list[str | None]]
) -> None:
    (bare / "secrets").mkdir()
    (bare / "secrets" / "admin").write_text("portolan_of_the_containers\n")
    url, _ = listener
    monkeypatch.setenv("PORTOLAN_PORT", url.rpartition(":")[2])
    assert find_token(url, DataDirectory(bare / "data")) is None


def test_an_admin_token_that_others_could_read_is_replaced(tmp_path: Path) -> None:
    file = tmp_path / "admin-token"
    first = kept_admin_token(file)
    assert mode(file) == 0o600
    assert kept_admin_token(file) == first
    file.chmod(0o640)
    second = kept_admin_token(file)
    assert second != first
    assert mode(file) == 0o600


def test_a_token_does_not_follow_a_redirect(listener: tuple[str, list[str | None]]) -> None:
    url, tokens = listener
    with Client(url, "portolan_here") as client, pytest.raises(CoordinatorError):
        client.whoami()
    assert tokens == ["Bearer portolan_here"]


def test_a_person_stores_a_token_works_with_it_and_forgets_it(coordinator: CoordinatorProcess, tmp_path: Path) -> None:
    portolan = Portolan(tmp_path / "data", XDG_CONFIG_HOME=str(tmp_path / "config"))
    here = ("--url", coordinator.url)
    assert "portolan login" in portolan.refused("status", *here)
    wrong = portolan.call("login", coordinator.url, stdin="portolan_wrong\n")
    assert (wrong.returncode, "does not know the token" in wrong.stderr) == (2, True)
    assert "this is not a token" in portolan.call("login", coordinator.url, stdin="\n").stderr
    login = portolan.call("login", coordinator.url, stdin=f"{ADMIN_TOKEN}\n")
    assert login.returncode == 0, login.stderr
    assert ADMIN_TOKEN not in login.stdout + login.stderr
    (file,) = (tmp_path / "config" / "portolan" / "tokens").iterdir()
    assert mode(file) == 0o600
    assert portolan.ask("whoami", *here).startswith("admin, admin")
    creation = portolan.call("token", "create", "ada", "--role", "viewer", *here)
    assert re.fullmatch(r"portolan_[a-z0-9]{8}_\S{43}\n", creation.stdout), creation.stderr
    ada = Portolan(tmp_path / "data", PORTOLAN_URL=coordinator.url, PORTOLAN_TOKEN=creation.stdout.strip())
    assert ada.ask("whoami").startswith("ada, viewer, until")
    assert "ada has the role viewer" in ada.refused("reclassify")
    assert "ada" in portolan.ask("token", "list", *here)
    id = next(token["id"] for token in coordinator.http.get("/tokens").json()["tokens"] if token["name"] == "ada")
    assert portolan.ask("token", "revoke", str(id), *here) == f"token {id} revoked\n"
    assert "was revoked" in ada.refused("whoami")
    assert "ada, viewer" in portolan.ask("audit", "--limit", "100", *here)
    assert "forgotten" in portolan.ask("logout", coordinator.url)
    assert "portolan login" in portolan.refused("status", *here)


def test_the_local_instance_asks_its_owner_nothing_and_others_for_a_token(place: Path) -> None:
    """If others can reach the instance of `up`, reading needs a token too. The owner's commands read this token from
    the data directory."""
    portolan = Portolan(place / "data", XDG_CONFIG_HOME=str(place / "config"))
    up = portolan.up("--host", "0.0.0.0", "--port", "0", "--targets", "")
    try:
        (address,) = re.findall(r"^portolan \S+ at (\S+)", up.said, re.MULTILINE)
        # Its output is no terminal, and may be a file that others read: no link that signs in stands there.
        assert "login?once=" not in up.said
        assert "portolan login --link" in up.said
        link = portolan.ask("login", "--link").strip()
        assert mode(place / "data" / "admin-token") == 0o600
        assert portolan.ask("runner", "list")
        assert ", admin" in portolan.ask("whoami")
        token = (place / "data" / "admin-token").read_text().strip()
        assert token not in up.said
        assert token not in (place / "data" / "coordinator.log").read_text()
        with httpx.Client(base_url=address, headers={"Accept": "text/html"}, timeout=120) as stranger:
            assert stranger.get("/campaigns").status_code == 401
            assert stranger.post("/api/v1/reclassify").status_code == 401
            assert stranger.get(link).status_code == 303
            assert stranger.get("/audit").status_code == 200
        again = portolan.ask("login", "--link").strip()
        assert httpx.get(again, timeout=120).status_code == 303
    finally:
        up.stop()


def test_on_loopback_others_read_and_change_nothing(place: Path) -> None:
    portolan = Portolan(place / "data")
    up = portolan.up("--port", "0", "--targets", "")
    try:
        (address,) = re.findall(r"^portolan \S+ at (\S+)", up.said, re.MULTILINE)
        with httpx.Client(base_url=address, timeout=120) as stranger:
            assert stranger.get("/api/v1/campaigns").status_code == 200
            assert stranger.get("/api/v1/whoami").json()["role"] == "viewer"
            assert stranger.post("/api/v1/reclassify").status_code == 401
            assert stranger.post("/api/v1/login-links").status_code == 401
            assert stranger.get("/api/v1/tokens").status_code == 401
    finally:
        up.stop()


def test_a_coordinator_of_one_s_own_database_does_not_start_without_access_control(
    new_database: Callable[..., str], tmp_path: Path
) -> None:
    portolan = Portolan(tmp_path, PORTOLAN_DATABASE_URL=new_database())
    line = portolan.refused("serve", "--host", "0.0.0.0", "--port", "0")
    assert "PORTOLAN_ADMIN_TOKEN_FILE" in line
    assert "--without-access-control" in line
    assert "none or viewer" in portolan.refused("serve", "--anonymous", "admin", "--port", "0")
    short = tmp_path / "short"
    short.write_text("secret")
    portolan.variables["PORTOLAN_ADMIN_TOKEN_FILE"] = str(short)
    assert "of 32 to 500 printable ASCII characters" in portolan.refused("serve", "--port", "0")
