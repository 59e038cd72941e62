"""Registering a server that is no runner gives a clear error each time, and nothing is stored."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.acceptance.conftest import SECRET
from tests.coordinator_process import CoordinatorProcess, free_port
from tests.faults.registration.listing_runner import ListingRunner
from tests.runner_process import RunnerProcess
from tests.threaded_server import ThreadedServer


@contextmanager
def answering(body: bytes, *, is_delayed: bool = False) -> Iterator[str]:
    """An HTTP server that answers every request with ``body``, immediately or only when the test is over."""
    over = threading.Event()

    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if is_delayed:
                over.wait(60)
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with ThreadedServer(("127.0.0.1", 0), Answer) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            over.set()
            server.shutdown()
            thread.join()


def refusal_detail(coordinator: CoordinatorProcess, url: str, secret: str = SECRET) -> str:
    """The ``detail`` of the problem in the response. Asserts that nothing was stored."""
    before = coordinator.http.get("/runners").json()
    answer = coordinator.register(url, secret)
    assert answer.is_error
    assert answer.headers["content-type"] == "application/problem+json"
    assert coordinator.http.get("/runners").json() == before
    return str(answer.json()["detail"])


def test_nobody_answers(coordinator: CoordinatorProcess) -> None:
    assert "check that it is running" in refusal_detail(coordinator, f"http://127.0.0.1:{free_port()}")


def test_a_slow_answer(coordinator: CoordinatorProcess) -> None:
    with answering(b"{}", is_delayed=True) as url:
        assert "did not answer within 10 s" in refusal_detail(coordinator, url)


@pytest.mark.parametrize("body", [b"<html>a web page</html>", b'{"hello": "world"}', b"", b"[]"])
def test_something_else_answers(coordinator: CoordinatorProcess, body: bytes) -> None:
    with answering(body) as url:
        assert "not a runner of protocol 1" in refusal_detail(coordinator, url)


@pytest.mark.parametrize("body", [{"protocol": 2}, {"protocol": 2, "boots": ["new words"]}])
def test_another_protocol_version(coordinator: CoordinatorProcess, body: dict[str, object]) -> None:
    with answering(json.dumps(body).encode()) as url:
        assert "speaks protocol 2, this coordinator 1" in refusal_detail(coordinator, url)


def test_a_framework_whose_name_has_a_slash(coordinator: CoordinatorProcess) -> None:
    """No selector could match its target, and the target's pages would have no address."""
    runner = ListingRunner([], "vendor/torch")
    try:
        assert "framework: must not contain a slash" in refusal_detail(coordinator, runner.url, "")
    finally:
        runner.stop()


def test_a_wrong_secret(coordinator: CoordinatorProcess, runner: RunnerProcess) -> None:
    detail = refusal_detail(coordinator, runner.ready["url"], "another secret")
    assert "refused the secret" in detail


@pytest.mark.parametrize("url", ["", "ftp://host", "runner:7000", "http://", 7])
def test_a_url_that_is_none(coordinator: CoordinatorProcess, url: object) -> None:
    answer = coordinator.http.post("/runners", json={"url": url})
    assert answer.status_code == 422
    assert "url" in answer.json()["detail"]


def test_registering_again_updates(coordinator: CoordinatorProcess, runner: RunnerProcess) -> None:
    first = coordinator.register(runner.ready["url"], SECRET).json()
    again = coordinator.register(runner.ready["url"] + "/", SECRET).json()
    assert first["id"] == again["id"]
    assert SECRET not in json.dumps(again), "secrets go in and never come out"
