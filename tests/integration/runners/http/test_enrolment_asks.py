"""A runner requests enrollment until the coordinator has used its secret, and can be stopped at any time."""

from __future__ import annotations

import asyncio
import http.server
import json
import os
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runners.http import enrolment
from runners.http.access import Access
from tests.enrolling_runner import EnrollingRunner, token_of
from tests.runner_process import RunnerProcess
from tests.threaded_server import ThreadedServer
from tests.waiting import LIMIT_S, until

FIRST, SECOND = "a-first-key-of-thirty-two-letters", "a-second-key-of-thirty-two-letters"
HERE = ("127.0.0.1", 8790)


class Asked:
    """A coordinator that gives every runner a secret, and sends no request to any runner."""

    def __init__(self) -> None:
        self.bodies: list[dict[str, Any]] = []
        self.bearers: list[str] = []
        recorder = self

        class Answer(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                recorder.bearers.append(self.headers["Authorization"])
                recorder.bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                answer = json.dumps({"runner": {"id": 1}, "secret": "own"}).encode()
                self.send_response(201)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_: object) -> None:
                """Print nothing."""

        self.server = ThreadedServer(("127.0.0.1", 0), Answer)
        self.url = f"http://127.0.0.1:{self.server.server_port}"


@pytest.fixture
def listener() -> Iterator[Asked]:
    listener = Asked()
    thread = threading.Thread(target=listener.server.serve_forever)
    thread.start()
    yield listener
    listener.server.shutdown()
    listener.server.server_close()
    thread.join()


@pytest.fixture
def secret_file(tmp_path: Path) -> Path:
    file = tmp_path / "enrolment"
    file.write_text(token_of(FIRST, "alpha"))
    return file


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    file = tmp_path / "key"
    file.write_text(FIRST)
    return file


async def until_asked(listener: Asked, times: int) -> None:
    await asyncio.to_thread(until, lambda: len(listener.bodies) >= times, f"it asked {times} times")


def rotate(secret_file: Path) -> None:
    secret_file.write_text(token_of(SECOND, "alpha"))


async def test_it_asks_again_until_somebody_comes_with_its_own_secret(listener: Asked, secret_file: Path) -> None:
    access, messages = Access("unknown"), list[str]()
    order = replace(enrolment.enrolment_options(listener.url, secret_file, "alpha", "auto"), confirmed_within_s=0.05)
    asking = asyncio.create_task(enrolment.enrol(order, HERE, access, messages.append))
    await until_asked(listener, 1)
    rotate(secret_file)
    await until_asked(listener, len(listener.bodies) + 3)
    assert [listener.bearers[0], listener.bearers[-1]] == [
        f"Bearer {token_of(key, 'alpha')}" for key in (FIRST, SECOND)
    ], "the file is read again"
    assert len({body["secret"] for body in listener.bodies}) == len(listener.bodies), (
        "each try has a provisional secret"
    )
    assert {(body["name"], body["url"]) for body in listener.bodies} == {("alpha", "http://127.0.0.1:8790")}
    assert access.opens(b"Bearer own")
    async with asyncio.timeout(LIMIT_S):
        await asking
    assert len(messages) == 1, "nothing changed that would be worth a line"


async def test_it_does_not_ask_once_its_secret_is_in_use(listener: Asked, secret_file: Path) -> None:
    access, has_enrolled = Access("unknown"), asyncio.Event()
    order = enrolment.enrolment_options(listener.url, secret_file, "alpha", "http://elsewhere:1")
    asking = asyncio.create_task(enrolment.enrol(order, HERE, access, lambda line: has_enrolled.set()))
    async with asyncio.timeout(LIMIT_S):
        await has_enrolled.wait()
        assert access.opens(b"Bearer own")
        await asking
    assert [body["url"] for body in listener.bodies] == ["http://elsewhere:1"]


def test_a_coordinator_that_never_answers_does_not_hold_the_runner_up(key_file: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        runner = EnrollingRunner(f"http://127.0.0.1:{silent.getsockname()[1]}", key_file, "alpha")
        silent.settimeout(LIMIT_S)
        caller, _ = silent.accept()
        with caller:
            caller.settimeout(LIMIT_S)
            caller.recv(1)
            runner.stop()
        assert runner.process.returncode == 0


def test_a_runner_that_only_this_machine_reaches_does_not_enrol_elsewhere(key_file: Path) -> None:
    """The coordinator's address here is not the loopback address, so the runner treats it as another machine."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            pytest.skip("this machine has no address but its loopback's")
        outward = probe.getsockname()[0]
    with socket.create_server((outward, 0)) as elsewhere:
        runner = EnrollingRunner(f"http://{outward}:{elsewhere.getsockname()[1]}", key_file, "alpha")
        try:
            assert "--host 0.0.0.0" in runner.refused()
        finally:
            runner.stop()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--name", "alpha"], "--name goes with --enrol URL"),
        (["--enrol", "http://127.0.0.1:1"], "--enrol needs --enrolment-token-file"),
        (["--enrol", "http://127.0.0.1:1", "--enrolment-token-file", os.devnull], "has no enrollment token"),
        (
            ["--enrol", "http://127.0.0.1:1", "--enrolment-token-file", "x", "--secret-file", "y"],
            "the coordinator gives the secret",
        ),
    ],
)
def test_options_that_do_not_go_together(options: list[str], words: str) -> None:
    with pytest.raises(AssertionError, match=r"did not start \(2\)") as exit_error:
        RunnerProcess(*options)
    assert words in str(exit_error.value)
