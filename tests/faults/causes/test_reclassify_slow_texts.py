"""Outcomes have texts that are slow for a rule's pattern. They are imported and classified again while all other
requests are answered."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests import bundles
from tests.admin import AS_ADMIN
from tests.coordinator_process import CoordinatorProcess

TEXT_CHARACTERS = 16_384
"""The maximum length of a message from a runner."""
OUTCOMES = 28
ANSWERS_WITHIN_S = 10.0
"""The maximum seconds for an unrelated request, also on a busy machine."""
SLOW = (
    "\n",
    " ",
    'File "',
    "Stack trace for op definition",
    "op is created at",
    "implies that axis 1 ",
    "No registered 'StackStack",
    "expected must only complex ",
    "{{function_node ",
)


def slow_message(piece: str) -> str:
    """A text that begins to match a pattern at every position, with the words that make a rule search it."""
    return (piece * TEXT_CHARACTERS)[: TEXT_CHARACTERS - 6] + 'File "'


@pytest.fixture(scope="module")
def slow_bundle(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A real bundle with one failure, repeated with the slow texts."""
    bundle = bundles.make(tmp_path_factory.mktemp("b") / "b", functions=("hazards.fail",), runs=1)
    header, *lines = bundles.lines_of(bundle.read_bytes())
    (failed_line,) = (line for line in lines if line["outcome"]["ending"] == "raised")
    names = [f"hazards.fail/{number}" for number in range(OUTCOMES)]
    header["suite"]["cases"] = [
        {"id": name, "function": "hazards.fail", "host_only": None, "tags": []} for name in names
    ]
    return bundles.sealed([header, *(_slow(failed_line, name, number) for number, name in enumerate(names))])


def _slow(line: dict[str, Any], case: str, number: int) -> dict[str, Any]:
    text = slow_message(SLOW[number % len(SLOW)])
    evidence = {**line["outcome"]["evidence"], "message": text, "frames": [text[:1_000]] * 64}
    return {**line, "case": case, "outcome": {**line["outcome"], "evidence": evidence, "log_tail": text}}


class Asker:
    """Requests ``/healthz`` repeatedly, and stores the longest response time."""

    def __init__(self, coordinator: CoordinatorProcess) -> None:
        self.slowest_s = 0.0
        self.answers = 0
        self._url = f"http://127.0.0.1:{coordinator.port}/healthz"
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._ask)

    def __enter__(self) -> Asker:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _ask(self) -> None:
        with httpx.Client(headers=AS_ADMIN, timeout=120) as http:
            while not self._stop.is_set():
                asked_at = time.monotonic()
                assert http.get(self._url).status_code == 200
                self.slowest_s = max(self.slowest_s, time.monotonic() - asked_at)
                self.answers += 1


@pytest.fixture
def coordinator(database: str) -> Iterator[CoordinatorProcess]:
    coordinator = CoordinatorProcess(database)
    yield coordinator
    coordinator.stop()


def test_everybody_is_answered_while_slow_texts_are_classified(
    coordinator: CoordinatorProcess, slow_bundle: bytes
) -> None:
    with Asker(coordinator) as asker:
        import_answer = coordinator.http.post(bundles.UPLOAD, headers=bundles.HEADERS, content=slow_bundle)
        assert import_answer.status_code == 201, import_answer.text
        campaign = import_answer.json()["id"]
        for path in (f"/campaigns/{campaign}/reclassify", "/reclassify"):
            answer = coordinator.http.post(path)
            assert answer.status_code == 200, answer.text
            assert answer.json()["looked_at"] == OUTCOMES
            assert answer.json()["changed"] == 0
        first = coordinator.outcomes(campaign)[0]["job_id"]
        page = coordinator.http.get(f"http://127.0.0.1:{coordinator.port}/campaigns/{campaign}/outcomes/{first}")
        assert page.status_code == 200
    assert asker.answers
    assert asker.slowest_s < ANSWERS_WITHIN_S
