"""``portolan serve`` with a user's own database, started as in a container: its needs, messages and errors."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote, urlsplit, urlunsplit

import httpx
import pytest

from tests.admin import ADMIN_TOKEN, admin_token_file
from tests.coordinator_process import free_port
from tests.idle_connection import outlasts_clients
from tests.portolan_process import COMMAND, Portolan
from tests.waiting import until

URL, PASSWORD_FILE = "PORTOLAN_DATABASE_URL", "PORTOLAN_DATABASE_PASSWORD_FILE"


@pytest.fixture
def empty(new_database: Callable[..., str], tmp_path: Path) -> Portolan:
    """Commands, in real processes, for an empty database whose password is in a file."""
    variables = variables_of(new_database(template="template1"), tmp_path / "password")
    access = {"PORTOLAN_ADMIN_TOKEN_FILE": str(admin_token_file()), "PORTOLAN_TOKEN": ADMIN_TOKEN}
    return Portolan(tmp_path, real=True, **access, **variables)


def variables_of(dsn: str, file: Path) -> dict[str, str]:
    """The variables for a DSN whose password is in a file, like a secret of a container."""
    parts = urlsplit(dsn)
    assert parts.username
    assert parts.password
    file.write_text(f"{unquote(parts.password)}\n")
    place = parts.netloc.rpartition("@")[2]
    return {URL: urlunsplit(parts._replace(netloc=f"{parts.username}@{place}")), PASSWORD_FILE: str(file)}


def test_a_database_is_brought_up_to_date_and_then_served(empty: Portolan) -> None:
    line = empty.refused("serve", "--port", "0")
    assert "the database is at revision none" in line
    assert "portolan db upgrade" in line
    assert "the database is at revision" in empty.ask("db", "upgrade")
    assert "the database is at revision" in empty.ask("db", "upgrade")
    empty.variables["PORTOLAN_LOG_FORMAT"] = "xml"
    assert "PORTOLAN_LOG_FORMAT is 'xml': give text or json" in empty.refused("serve", "--port", "0")
    del empty.variables["PORTOLAN_LOG_FORMAT"]
    port = free_port()
    serving = subprocess.Popen(
        [*COMMAND, "serve", "--port", str(port)], env=empty.variables, stdout=subprocess.PIPE, text=True
    )
    try:
        until(lambda: _answers(port) or serving.poll() is not None, "the coordinator answers")
        assert empty.ask("status", "--json", "--url", f"http://127.0.0.1:{port}").strip() == "[]"
        message = empty.refused("serve", "--port", str(port))
        assert f"cannot listen on 127.0.0.1:{port}" in message
        assert "--port" in message
        assert outlasts_clients(f"http://127.0.0.1:{port}")
    finally:
        serving.send_signal(signal.SIGTERM)
        output, _ = serving.communicate(timeout=120)
    first = json.loads(output.splitlines()[0])
    assert (first["event"], first["address"]) == ("listening", f"127.0.0.1:{port}")


def _answers(port: int) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/healthz").is_success
    except httpx.TransportError:
        return False


@pytest.mark.parametrize("command", [("serve", "--port", "0"), ("db", "upgrade")])
def test_what_is_missing_is_said_in_one_line(tmp_path: Path, command: tuple[str, ...]) -> None:
    bare = {name: value for name, value in os.environ.items() if name not in (URL, PASSWORD_FILE)}
    portolan = Portolan(tmp_path)
    portolan.variables = {**portolan.variables, **bare, "PORTOLAN_ADMIN_TOKEN_FILE": str(admin_token_file())}
    assert URL in portolan.refused(*command)
    absent = tmp_path / "no-such-secret"
    portolan.variables |= {URL: "postgresql://somebody@127.0.0.1/portolan", PASSWORD_FILE: str(absent)}
    assert str(absent) in portolan.refused(*command)
    absent.write_text("\n")
    assert f"{absent}, which is empty" in portolan.refused(*command)
    absent.write_text("open sesame")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        nobody = listener.getsockname()[1]
    portolan.variables[URL] = f"postgresql://somebody@127.0.0.1:{nobody}/portolan"
    line = portolan.refused(*command)
    assert f"the database at 127.0.0.1:{nobody}/portolan cannot be used" in line
    assert "open sesame" not in line
